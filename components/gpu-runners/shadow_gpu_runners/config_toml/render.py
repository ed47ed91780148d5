"""Writes config.toml: TOML's own names, tables in the order of GitLab's documentation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from shadow_gpu_runners.config_toml import kinds
from shadow_gpu_runners.config_toml.docker import DockerOptions
from shadow_gpu_runners.config_toml.runner import CacheOptions, GlobalOptions, RunnerOptions

HOSTNAME = "@HOSTNAME@"
"""Stands for the machine's own name until the boot script fills it in."""

GLOBAL_DEFAULTS: Mapping[str, object] = {"concurrent": 1, "check_interval": 3, "log_level": "info"}
"""One job at a time: a machine has one set of GPUs."""

DOCKER_DEFAULTS: Mapping[str, object] = {
    "image": "nvidia/cuda:12.1.0-base-ubuntu22.04",
    "gpus": "all",
    "privileged": False,
    "disable_cache": False,
    "volumes": ["/cache"],
}
"""All GPUs in unprivileged containers, with a cache volume."""

_HYPHENATED = {"tls_ca_file": "tls-ca-file", "tls_cert_file": "tls-cert-file", "tls_key_file": "tls-key-file"}
_CACHE_WORDS = {"url": "URL", "arn": "ARN", "id": "ID"}


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """One machine's configuration; the mappings hold options under the names of their TypedDict."""

    url: str
    """Address of GitLab."""

    token: str
    """The runner's authentication token; a secret."""

    name: str = HOSTNAME
    """Name of the runner manager."""

    executor: str = "docker"
    """GPUs reach jobs through Docker only."""

    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """`RunnerOptions`."""

    docker: Mapping[str, object] = field(default_factory=dict[str, object])
    """`DockerOptions`, over `DOCKER_DEFAULTS`."""

    cache: Mapping[str, object] = field(default_factory=dict[str, object])
    """`CacheOptions`; no distributed cache when empty."""

    process: Mapping[str, object] = field(default_factory=dict[str, object])
    """`GlobalOptions`, over `GLOBAL_DEFAULTS`."""


def render(config: RunnerConfig) -> str:
    """Return the text of config.toml. `config` must have passed the check."""
    process = _table({**GLOBAL_DEFAULTS, **config.process}, GlobalOptions)
    import tomlkit  # noqa: PLC0415 - a program with instances alone writes no TOML

    return tomlkit.dumps({**process, "runners": [_runner(config)]})


def _runner(config: RunnerConfig) -> dict[str, object]:
    credentials = {key: getattr(config, key) for key in ("name", "url", "token", "executor")}
    docker = _table({**DOCKER_DEFAULTS, **config.docker}, DockerOptions)
    runner = {**credentials, **_table(config.options, RunnerOptions), "docker": docker}
    return runner | ({"cache": _table(config.cache, CacheOptions)} if config.cache else {})


def _table(values: Mapping[str, object], model: type) -> dict[str, object]:
    """Return the set options under TOML's names, in the model's order."""
    tables = kinds.nested(model)
    return {
        toml_name(name, model): _value(values[name], tables.get(name))
        for name in kinds.of(model)
        if values.get(name) not in (None, "")
    }


def _value(value: object, model: type | None) -> object:
    if model is None:
        # Numbers from other languages arrive as floats; no option takes a fraction.
        return int(value) if isinstance(value, float) else value
    if isinstance(value, list):
        return [_table(each, model) for each in cast("list[Mapping[str, object]]", value)]
    return _table(cast("Mapping[str, object]", value), model)


def toml_name(name: str, model: type) -> str:
    """Return GitLab Runner's spelling of the option `name` of `model`."""
    if name in _HYPHENATED:
        return _HYPHENATED[name]
    if model.__name__ not in {"CacheOptions", "S3Options"} or name == "s3":
        return name
    return "".join(_CACHE_WORDS.get(word, word.capitalize()) for word in name.split("_"))
