"""Finds every fault of a runner configuration: unknown options, wrong kinds, values GitLab Runner refuses."""

import difflib
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import cast

from shadow_gpu_runners._validation import Problems, camel
from shadow_gpu_runners.config_toml import kinds
from shadow_gpu_runners.config_toml.kinds import Kind


class _Unknown:
    """Stands for a value that is known only while the stack is deployed."""

    def __repr__(self) -> str:
        return "a value not known yet"


UNKNOWN = _Unknown()
"""Put in place of an Output: such a value is checked later."""

PULL_POLICIES = frozenset({"always", "if-not-present", "never"})
PROTECTED_PATHS = (
    "/etc/gitlab-runner",
    "/etc/shadow-runner",
    "/var/lib/cloud",
    "/run/cloud-init",
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/proc",
)
"""Host paths that give a job the runner's token, the user-data or the whole machine."""

_DURATION = re.compile(r"^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$")
_DURATIONS = frozenset(
    {
        "connection_max_age",
        "unhealthy_interval",
        "prepare_timeout",
        "get_sources_timeout",
        "upload_timeout",
        "response_header_timeout",
    },
)
_GPUS = re.compile(r"^(all|\d+|\"?device=[A-Za-z0-9,:_-]+\"?)$")
_SIZE = re.compile(r"^\d+[bkmgBKMG]?$")
_SIZES = frozenset(
    {
        "memory",
        "memory_reservation",
        "service_memory",
        "service_memory_reservation",
    },
)
_CHOICES = {
    "log_level": ("debug", "info", "warn", "error", "fatal", "panic"),
    "log_format": ("runner", "text", "json"),
    "shell": ("bash", "sh", "pwsh"),
    "authentication_type": ("access-key", "iam"),
    "server_side_encryption": ("S3", "KMS", "DSSE-KMS"),
    "isolation": ("default", "hyperv", "process"),
}
_LEAST = {
    "concurrent": 1,
    "check_interval": 0,
    "limit": 0,
    "request_concurrency": 1,
    "output_limit": 1,
    "shutdown_timeout": 0,
    "shm_size": 1,
    "max_uploaded_archive_size": 0,
}
_NOT_SHOWN = frozenset(
    {"access_key", "secret_key", "session_token", "sentry_dsn", "environment", "http_proxy", "https_proxy"}
    | {"secret", "user_data", "public_key", "variables"}
)
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=", re.DOTALL)


def check_environment(entries: object, problems: Problems, path: str) -> None:
    """Note each variable that is not written as KEY=value, without showing it."""
    for index, entry in enumerate(texts(entries)):
        if not _VARIABLE.match(entry):
            problems.add_hidden(f"{path}[{index}]", "KEY=value", "add the equals sign")


def check_cache(values: Mapping[str, object], problems: Problems, path: str = "cache") -> None:
    """Note a distributed cache that names no bucket, or another kind of store."""
    if not values:
        return
    if values.get("type", "s3") not in ("s3", UNKNOWN):
        problems.add(
            f"{path}.type", values["type"], "s3", "Shadow's object store speaks S3; leave the option out"
        )
    s3 = values.get("s3", {})
    if not isinstance(s3, Mapping):
        return
    for key in ("server_address", "bucket_name"):
        if not cast("Mapping[str, object]", s3).get(key):
            problems.add_missing(f"{path}.s3.{key}", "a value", "say where caches are kept")


def check_docker(
    values: Mapping[str, object],
    problems: Problems,
    path: str = "docker",
    *,
    allow_host_access: bool = False,
) -> None:
    """Note wrong GPUs and pull policies; host paths and networks that reach secrets need the opt-in."""
    for name in ("gpus", "service_gpus"):
        value = values.get(name)
        if isinstance(value, str) and value and not _GPUS.match(value):
            problems.add(f"{path}.{name}", value, "all, a number or device=ID,…", "see docker run --gpus")
    _check_policies(values, problems, path)
    if not allow_host_access:
        _check_host_access(values, problems, path)


def texts(value: object) -> list[str]:
    """Return the strings of a list that may hold other things or be none."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [each for each in items if isinstance(each, str)]


def check_table(values: Mapping[str, object], model: type, path: str, problems: Problems) -> None:
    """Note unknown and missing names, wrong kinds and wrong values of a table of the TypedDict `model`."""
    known = kinds.of(model)
    for name, value in values.items():
        where = f"{path}.{name}" if path else camel(name)
        if name not in known:
            problems.add(where, name, "the name of an option", _near(name, known))
        elif name in kinds.plain(model) and _is_late(value):
            problems.add_hidden(
                where,
                f"{known[name].value} that is known while the program runs, not an output",
                "take it from configuration or from the program itself",
            )
        elif value is not UNKNOWN and value is not None:
            _check_option(name, value, model, where, problems)
    for name in sorted(kinds.required(model) - values.keys()):
        problems.add_missing(f"{path}.{name}" if path else camel(name), known[name].value, "add it")


def _is_late(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_late, cast("Mapping[object, object]", value).values()))
    if isinstance(value, list):
        return any(map(_is_late, cast("list[object]", value)))
    return value is UNKNOWN


def _check_option(name: str, value: object, model: type, path: str, problems: Problems) -> None:
    kind, inner_model = kinds.of(model)[name], kinds.nested(model).get(name)
    if not _fits(value, kind):
        remedy = 'write "all"' if name in {"gpus", "service_gpus"} else "change its type"
        if name in _NOT_SHOWN:
            problems.add_hidden(path, kind.value, remedy)
        else:
            problems.add(path, value, kind.value, remedy)
    elif inner_model is not None:
        for where, inner in _inner_tables(value, path):
            check_table(inner, inner_model, where, problems)
    else:
        _check_value(name, value, path, problems)


def _fits(value: object, kind: Kind) -> bool:
    """Like `kinds.matches`, with what is not known yet taken as right."""
    known = value
    if isinstance(value, list):
        known = [each for each in cast("list[object]", value) if each is not UNKNOWN]
    if isinstance(value, Mapping) and kind is not Kind.TABLE:
        table = cast("Mapping[object, object]", value)
        known = {key: each for key, each in table.items() if each is not UNKNOWN}
    return kinds.matches(known, kind)


def _inner_tables(value: object, path: str) -> Iterable[tuple[str, Mapping[str, object]]]:
    if isinstance(value, Mapping):
        return [(path, cast("Mapping[str, object]", value))]
    items = cast("list[Mapping[str, object]]", value)
    return [(f"{path}[{index}]", each) for index, each in enumerate(items)]


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(sorted(known))}"


def _check_value(name: str, value: object, path: str, problems: Problems) -> None:
    if name in _DURATIONS and not _DURATION.match(str(value)):
        problems.add(path, value, "a duration such as 90s or 1h30m", "add the unit")
    if name in _SIZES and not _SIZE.match(str(value)):
        problems.add(path, value, "a size such as 512m or 12g", "correct the size")
    if name in _CHOICES and value not in _CHOICES[name]:
        problems.add(path, value, f"one of {', '.join(_CHOICES[name])}", "choose one of them")
    if name in _LEAST and isinstance(value, int | float) and value < _LEAST[name]:
        problems.add(path, value, f"at least {_LEAST[name]}", "raise it")


def _check_policies(values: Mapping[str, object], problems: Problems, path: str) -> None:
    for name in ("pull_policy", "allowed_pull_policies"):
        for policy in sorted(set(texts(values.get(name))) - PULL_POLICIES):
            problems.add(f"{path}.{name}", policy, "always, if-not-present or never", "correct the policy")
    allowed = texts(values.get("allowed_pull_policies"))
    for policy in texts(values.get("pull_policy")) if allowed else []:
        if policy in PULL_POLICIES and policy not in allowed:
            problems.add(f"{path}.pull_policy", policy, "one of allowed_pull_policies", "add it there")


def _check_host_access(values: Mapping[str, object], problems: Problems, path: str) -> None:
    remedy = "leave it out, or set allow_host_access where every job is trusted"
    for volume in texts(values.get("volumes")):
        source, separator, _ = volume.partition(":")
        if separator and source.startswith("/") and _reaches_secrets(posixpath.normpath(source)):
            problems.add(f"{path}.volumes", volume, "a volume that cannot reach the runner's token", remedy)
    if values.get("network_mode") == "host":
        expected = "a network without the way to the metadata service"
        problems.add(f"{path}.network_mode", "host", expected, remedy)
    if values.get("pid_mode") == "host":
        problems.add(f"{path}.pid_mode", "host", "a process namespace of the job's own", remedy)


def _reaches_secrets(source: str) -> bool:
    inside = source.rstrip("/") + "/"
    return any(f"{path}/".startswith(inside) or inside.startswith(f"{path}/") for path in PROTECTED_PATHS)
