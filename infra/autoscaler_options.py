"""`options`: further keys of the autoscaler's own configuration, beside those that the stack sets."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from setting_kinds import NAMESPACE

if TYPE_CHECKING:
    from autoscaler_settings import Autoscaler

POOL: Final[Mapping[str, str]] = {
    "name": "the pool's name",
    "forge": "the pool's forge",
    "labels": "the pool's labels",
    "max": "the pool's max",
    "ladder": "the pool's flavors, market and zones",
    "image": "the pool's image",
    "volume": "the pool's volume and localDisk",
    "runner_group": "github.group",
    "user_data_file": "the pool's gpuImage, packages and runnerArchive",
}
"""Keys of a pool that the stack sets, and by which of its own."""
CONTROLLER: Final[Mapping[str, str]] = {
    "callback_url": "autoscaler.url",
    "callback_key": "the secret autoscalerCallbackKey",
    "status_token": "the secret autoscalerStatusToken",
    "pools": "autoscaler.pools",
    **dict.fromkeys(("deployment", "store", "secrets", "consoles", "listen.host"), "the stack itself"),
    "github.owner": "github.owner",
    "github.repositories": "github.repositories",
    "github.base_url": "github.baseUrl",
    "github.token": "the secret githubToken",
    "github.webhook_secret": "the secret webhookSecret",
    "gitlab.url": "gitlab.url",
    "gitlab.projects": "gitlab.project",
    "gitlab.token": "the secret gitlabToken",
    "gitlab.webhook_token": "the secret gitlabWebhookToken",
    "gitlab.runner_tokens": "gitlab.project",
    "openstack.cloud": "autoscaler.cloud",
    "openstack.clouds_file": "autoscaler.cloud",
    "openstack.region": "region",
    "openstack.image": "image.name",
    "openstack.network_id": "network",
    "openstack.security_groups": "network",
    "openstack.key_name": "sshPublicKey",
}
"""Keys of the configuration that the stack sets, and by which of its own."""
SECTIONS: Final = ("github", "gitlab", "listen", "openstack")
"""Sections of the configuration that hold keys of both."""
_KEY = f"  {NAMESPACE}:autoscaler"
_PORTS = range(1, 65_536)


def added(config: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with further keys; a section in both holds the keys of both."""
    shared = {key: {**config[key], **options[key]} for key in SECTIONS if key in config and key in options}
    return {**config, **options, **shared}


def find(wanted: "Autoscaler") -> Iterator[str]:
    """Yield each key of `options` that the stack sets itself, or that could not work."""
    for index, pool in enumerate(wanted.pools):
        yield from _taken(f"{_KEY}.pools[{index}].options", pool.options, POOL)
    yield from _taken(f"{_KEY}.options", wanted.options, CONTROLLER)
    for name in SECTIONS:
        if name in wanted.options:
            yield from _section(f"{_KEY}.options.{name}", name, wanted.options[name])
    for forge in sorted({"github", "gitlab"} & wanted.options.keys() - {pool.forge for pool in wanted.pools}):
        yield f"{_KEY}.options.{forge}: got options, expected a pool of {forge}; add one, or remove them"


def _section(path: str, name: str, found: object) -> Iterator[str]:
    if not isinstance(found, Mapping):
        expected = "a map of further keys (docs/reference/autoscaler-config.md)"
        yield f"{path}: got {found!r}, expected {expected}; correct it"
        return
    keys = cast("Mapping[str, object]", found)
    ways = {way.partition(".")[::2]: where for way, where in CONTROLLER.items()}
    yield from _taken(path, keys, {key: where for (section, key), where in ways.items() if section == name})
    if name == "listen" and not _is_port(keys.get("port", 1)):
        yield f"{path}.port: got {keys['port']!r}, expected a whole number from 1 to 65535; correct it"


def _is_port(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _PORTS


def _taken(path: str, options: Mapping[str, object], ours: Mapping[str, str]) -> Iterator[str]:
    for key in options:
        if key in ours:
            # What stands there may be meant as a secret, so it is not shown.
            expected = f"none, since it follows from {ours[key]}; take it out of options"
            yield f"{path}.{key}: got a value (not shown), expected {expected}"
