"""Reading config.toml the way GitLab Runner does: wrong types are refused, unknown keys only warned about."""

import os
import re
import secrets
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

Table = dict[str, Any]
STRINGS = "[]string"
MAP = "map[string]string"
SERVICE = {
    "name": "string",
    "alias": "string",
    "entrypoint": STRINGS,
    "command": STRINGS,
    "environment": STRINGS,
}
DOCKER: dict[str, Any] = {
    **dict.fromkeys(
        (
            "host", "cert_path", "hostname", "image", "runtime", "memory", "memory_swap",
            "memory_reservation",
            "cgroup_parent", "cpuset_cpus", "cpuset_mems", "cpus", "user", "userns_mode", "gpus",
            "volume_driver",
            "cache_dir", "network_mode", "pid_mode", "ipcmode", "mac_address", "service_memory",
            "service_memory_swap",
            "service_memory_reservation", "service_cgroup_parent", "service_slot_cgroup_template",
            "service_cpuset_cpus", "service_cpus", "service_gpus", "isolation", "helper_image",
            "helper_image_flavor",
        ),
        "string",
    ),
    **dict.fromkeys(
        (
            "dns", "dns_search", "allowed_users", "group_add", "cap_add", "cap_drop", "security_opt",
            "services_security_opt", "devices", "device_cgroup_rules", "volumes", "extra_hosts",
            "volumes_from", "links",
            "allowed_images", "allowed_privileged_images", "allowed_privileged_services",
            "allowed_pull_policies",
            "allowed_services",
        ),
        STRINGS,
    ),
    **dict.fromkeys(
        (
            "tls_verify", "privileged", "services_privileged", "disable_entrypoint_overwrite",
            "oom_kill_disable",
            "disable_cache", "volume_keep", "enable_ipv6",
        ),
        "bool",
    ),
    **dict.fromkeys(
        (
            "cpu_shares", "oom_score_adjust", "services_limit", "service_cpu_shares",
            "wait_for_services_timeout",
            "shm_size", "network_mtu",
        ),
        "int",
    ),
    **dict.fromkeys(
        (
            "volume_driver_ops", "tmpfs", "services_tmpfs", "sysctls", "container_labels", "ulimit",
            "log_options",
        ),
        MAP,
    ),
    "services": [SERVICE], "services_devices": "map[string][]string", "pull_policy": "StringOrArray",
}  # fmt: skip
CACHE: dict[str, Any] = {
    "Type": "string", "Path": "string", "Shared": "bool", "MaxUploadedArchiveSize": "int",
    "RedactURL": "bool",
    "s3": {
        **dict.fromkeys(
            (
                "ServerAddress", "AccessKey", "SecretKey", "SessionToken", "BucketName", "BucketLocation",
                "AuthenticationType", "ServerSideEncryption", "ServerSideEncryptionKeyID", "RoleARN",
                "UploadRoleARN",
            ),
            "string",
        ),
        **dict.fromkeys(
            ("Insecure", "DualStack", "PathStyle", "Accelerate", "DisableAssumeRoleCredentialsCaching"),
            "bool",
        ),
        "AssumeRoleMaxConcurrency": "int",
    },
    "gcs": dict.fromkeys(
        ("AccessID", "PrivateKey", "CredentialsFile", "BucketName", "UniverseDomain"), "string"
    ),
    "azure": dict.fromkeys(("AccountName", "AccountKey", "ContainerName", "StorageDomain"), "string"),
}  # fmt: skip
RUNNER: dict[str, Any] = {
    **dict.fromkeys(
        (
            "name", "url", "token", "executor", "builds_dir", "cache_dir", "clone_url",
            "pre_get_sources_script",
            "post_get_sources_script", "pre_build_script", "post_build_script", "shell", "tls-ca-file",
            "tls-cert-file", "tls-key-file", "pre_clone_script", "post_clone_script", "slot_cgroup_template",
            "step_runner_image",
        ),
        "string",
    ),
    **dict.fromkeys(
        (
            "id", "limit", "output_limit", "request_concurrency", "unhealthy_requests_limit",
            "job_status_final_update_retry_limit",
        ),
        "int",
    ),
    **dict.fromkeys(
        (
            "debug_trace_disabled", "strict_check_interval", "proxy_exec", "safe_directory_checkout",
            "clean_git_config", "use_slot_cgroups",
        ),
        "bool",
    ),
    **dict.fromkeys(("unhealthy_interval", "prepare_timeout", "get_sources_timeout"), "duration"),
    **dict.fromkeys(("token_obtained_at", "token_expires_at"), "time"),
    "environment": STRINGS, "feature_flags": "map[string]bool", "labels": MAP, "docker": DOCKER,
    "cache": CACHE,
    "custom_build_dir": {"enabled": "bool"},
    **dict.fromkeys(
        (
            "ssh", "machine", "parallels", "virtualbox", "kubernetes", "custom", "autoscaler", "instance",
            "referees",
            "monitoring", "artifact", "experimental",
        ),
        "table",
    ),
}  # fmt: skip
GLOBAL: dict[str, Any] = {
    **dict.fromkeys(("listen_address", "log_level", "log_format", "user", "sentry_dsn"), "string"),
    **dict.fromkeys(
        (
            "concurrent", "check_interval", "shutdown_timeout", "log_field_schema_version",
            "log_field_dual_emit_target",
        ),
        "int",
    ),
    "connection_max_age": "duration", "session_server": "table", "labels": MAP, "machine": "table",
    "experimental": "table", "runners": [RUNNER],
}  # fmt: skip
DURATION = re.compile(r"(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+")
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class ConfigError(Exception):
    """config.toml can't be used; the text is what GitLab Runner logs."""


@dataclass(frozen=True, slots=True)
class Runner:
    """One `[[runners]]` entry; durations in seconds."""

    name: str
    url: str
    token: str
    executor: str
    limit: int = 0
    request_concurrency: int = 1
    environment: tuple[str, ...] = ()
    docker: Table = field(default_factory=Table)
    unhealthy_requests_limit: int = 3
    unhealthy_interval_s: float = 3600.0
    pre_build_script: str = ""
    post_build_script: str = ""
    builds_dir: str = ""

    @property
    def short_token(self) -> str:
        """The nine characters of the token that logs show."""
        return self.token.removeprefix("glrt-").removeprefix("t1_")[:9]


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file."""

    path: Path
    concurrent: int
    check_interval_s: float
    log_level: str
    shutdown_timeout_s: float
    runners: tuple[Runner, ...]
    warnings: tuple[str, ...] = ()


def load(path: Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: it is missing, no TOML, or has a value of the wrong type.
    """
    try:
        tree = tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"open {path}: {(error.strerror or 'unreadable').lower()}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"toml: {error}") from None
    warnings: list[str] = []
    problems: list[str] = []
    _check(tree, GLOBAL, "", problems, warnings)
    if problems:
        raise ConfigError("; ".join(problems))
    interval = float(tree.get("check_interval", 0))
    return Config(
        path=path,
        concurrent=int(tree.get("concurrent", 1)),
        check_interval_s=interval if interval > 0 else 3.0,
        log_level=str(tree.get("log_level", "info")),
        shutdown_timeout_s=float(tree.get("shutdown_timeout", 0)) or 30.0,
        runners=tuple(_runner(item) for item in tree.get("runners", [])),
        warnings=tuple(warnings),
    )


def _runner(item: Table) -> Runner:
    return Runner(
        name=str(item.get("name", "")),
        url=str(item.get("url", "")).rstrip("/"),
        token=str(item.get("token", "")),
        executor=str(item.get("executor", "")),
        limit=int(item.get("limit", 0)),
        request_concurrency=max(int(item.get("request_concurrency", 1)), 1),
        environment=tuple(item.get("environment", [])),
        docker=dict(item.get("docker", {})),
        unhealthy_requests_limit=int(item.get("unhealthy_requests_limit", 0)) or 3,
        unhealthy_interval_s=duration_s(item.get("unhealthy_interval", 0)) or 3600.0,
        pre_build_script=str(item.get("pre_build_script", "")),
        post_build_script=str(item.get("post_build_script", "")),
        builds_dir=str(item.get("builds_dir", "")),
    )


def duration_s(value: Any) -> float:
    """A duration as text (`1h30m`) or in nanoseconds, in seconds."""
    if isinstance(value, int):
        return value / 1e9
    return sum(
        float(number) * SECONDS[unit] for number, _, unit in re.findall(r"(\d+(\.\d+)?)(\D+)", str(value))
    )


def is_table(value: object) -> TypeGuard[Table]:
    """Whether a TOML value is a table."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a TOML value is an array."""
    return isinstance(value, list)


def _check(table: Table, schema: Table, place: str, problems: list[str], warnings: list[str]) -> None:
    known = {name.lower(): name for name in schema}
    for key, value in table.items():
        where = f"{place}{key}"
        name = known.get(key.lower())
        if name is None:
            warnings.append(f"unknown key {where} is ignored")
        else:
            _check_value(value, schema[name], where, problems, warnings)


def _check_value(value: Any, kind: Any, where: str, problems: list[str], warnings: list[str]) -> None:
    if is_table(kind) and is_table(value):
        _check(value, kind, f"{where}.", problems, warnings)
    elif is_array(kind) and is_array(value) and all(is_table(item) for item in value):
        for item in value:
            _check(item, kind[0], f"{where}.", problems, warnings)
    elif isinstance(kind, dict | list) or not _fits(value, kind):
        wanted = "table" if isinstance(kind, dict) else "[]table" if isinstance(kind, list) else kind
        problems.append(
            f'toml: (last key "{where}"): incompatible types: TOML value has type {_type_of(value)}; '
            f"destination has type {wanted}"
        )


def _fits(value: Any, kind: str) -> bool:
    if kind == "duration":
        return _is_int(value) or (isinstance(value, str) and DURATION.fullmatch(value) is not None)
    if kind == "StringOrArray":
        return isinstance(value, str) or _fits(value, STRINGS)
    if kind == STRINGS:
        return is_array(value) and all(isinstance(item, str) for item in value)
    if kind.startswith("map"):
        inner = kind.removeprefix("map[string]")
        return is_table(value) and all(_fits(item, inner) for item in value.values())
    if kind == "int":
        return _is_int(value)
    return isinstance(value, {"string": str, "bool": bool, "table": dict}.get(kind, object))


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _type_of(value: Any) -> str:
    names = ((bool, "bool"), (str, "string"), (int, "int64"), (float, "float64"), (list, "[]interface {}"))
    return next((name for kind, name in names if isinstance(value, kind)), "map[string]interface {}")


def system_id(config: Path) -> str:
    """The identity of this machine among all that use the token; made once, kept beside the configuration."""
    path = config.parent / ".runner_system_id"
    if path.exists() and (known := path.read_text().strip()):
        return known
    made = f"s_{secrets.token_hex(6)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(made)
    return made
