"""How machines get ready, as component inputs: packages, GPU gate, mirrors and proxies."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast

import pulumi

from shadow_gpu_runners.boot_files import BootSettings, Repository
from shadow_gpu_runners.config_toml import UNKNOWN


class RepositoryArgs(TypedDict):
    """An apt repository and the key that its packages must be signed with."""

    name: str
    """Short name; names the files in /etc/apt."""

    uri: str
    """Address of the repository."""

    key_url: str
    """Address of its armoured public key."""

    fingerprint: str
    """Fingerprint of that key, 40 hexadecimal digits; another key is refused."""

    suite: NotRequired[str]
    """Distribution; `/`, a flat repository, when left out."""

    components: NotRequired[list[str]]
    """Components of the distribution."""


class BootArgs(TypedDict, total=False):
    """How the machines get ready."""

    packages: list[str]
    """apt packages, best pinned as `name=version`."""

    repositories: list[RepositoryArgs]
    """Repositories to add first, in place of NVIDIA's and GitLab's own."""

    gpu_count: int
    """GPUs that a machine must show; 1 when left out, 0 turns the gate off."""

    gpu_timeout_s: int
    """Seconds to wait for healthy GPUs, on the host and again in a container; 300 when left out."""

    gpu_interval_s: int
    """Seconds between two looks at the GPUs; 5 when left out."""

    apt_lock_timeout_s: int
    """Seconds to wait for another apt or dpkg to finish; 300 when left out."""

    registry_mirrors: list[str]
    """Pull-through mirrors of Docker Hub."""

    http_proxy: pulumi.Input[str]
    """Proxy for plain HTTP; kept secret, since it may hold credentials."""

    https_proxy: pulumi.Input[str]
    """Proxy for HTTPS; kept secret."""

    no_proxy: pulumi.Input[str]
    """Hosts, comma separated, to reach directly."""

    docker_daemon: dict[str, Any]
    """Further keys of Docker's daemon.json."""


def settings_from(args: Mapping[str, object], gpu_image: str) -> BootSettings:
    """Return `args` as values; what is not known yet takes its default."""
    values = {_FIELDS.get(key, key): value for key, value in args.items() if value is not UNKNOWN}
    for name in ("packages", "registry_mirrors"):
        if name in values:
            values[name] = tuple(cast("list[str]", values[name]))
    if "repositories" in values:
        values["repositories"] = tuple(
            _repository(each) for each in cast("list[Any]", values["repositories"])
        )
    for name in ("gpu_count", "gpu_timeout_s", "gpu_interval_s", "apt_lock_timeout_s"):
        if name in values:
            values[name] = int(cast("float", values[name]))
    return dataclasses.replace(BootSettings(gpu_image=gpu_image), **cast("dict[str, Any]", values))


_FIELDS = {"docker_daemon": "docker"}


def _repository(args: Mapping[str, Any]) -> Repository:
    values: dict[str, Any] = {**args, "components": tuple(args.get("components", ()))}
    return Repository(**values)
