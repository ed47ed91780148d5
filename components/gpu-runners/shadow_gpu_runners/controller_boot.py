"""User-data of the autoscaler's controller machine; pure functions."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml

from shadow_gpu_runners import boot, boot_files
from shadow_gpu_runners.boot_files import ETC, BootSettings
from shadow_gpu_runners.cloud_init import BootFile, assemble

Tls = Literal["acme", "certificate", "none"]
BOOT_VOLUME_GIB, DATA_VOLUME_GIB = 20, 10
"""Sizes of the controller's volumes where nothing else is said."""
HOME = "/etc/shadow-autoscaler"
_PLACED = f"{ETC}/controller"
_PART = re.compile(r"(?m)^(?=- path: )")
"""Where a file begins in a `#cloud-config`."""


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """What the controller machine is made of; everything is known, secrets included."""

    url: str
    """Where machines and forges reach it."""

    config: Mapping[str, Any]
    """The autoscaler's configuration, without the parts that `configuration` fills in."""

    templates: Mapping[str, str]
    """User-data template by pool."""

    secrets: Mapping[str, str]
    """Secret by name."""

    clouds_yaml: str
    """clouds.yaml with the credential."""

    wheel_url: str
    wheel_sha256: str
    deployment: str
    index_url: str = ""
    """Package index; pip's own when empty."""
    data_volume_id: str = ""
    tls: Tls = "acme"
    certificate: str = ""
    """PEM chain, for `certificate`."""
    private_key: str = ""
    """PEM key, for `certificate`."""
    acme_email: str = ""
    port: int = 8080
    """Where the service itself listens, on loopback."""
    boot: BootSettings = field(default_factory=lambda: BootSettings(gpu_image=""))
    """Packages, mirrors and proxies."""


def packages(tls: Tls) -> tuple[str, ...]:
    """Return the apt packages that a controller needs."""
    return ("python3-venv", "iptables") + (() if tls == "none" else ("caddy",))


def configuration(settings: ControllerSettings) -> dict[str, Any]:
    """Return config.yaml as data: the given configuration with what only the machine's making decides."""
    pools = [
        {**pool, "user_data_file": f"user-data/{pool['name']}.yaml"}
        for pool in settings.config.get("pools", [])
    ]
    return {
        **settings.config,
        "deployment": settings.deployment,
        "callback_url": settings.url.rstrip("/"),
        "listen": {**settings.config.get("listen", {}), "host": "127.0.0.1", "port": settings.port},
        "store": {"kind": "sqlite", "path": "/var/lib/shadow-autoscaler/state.sqlite"},
        "consoles": "/var/lib/shadow-autoscaler/consoles",
        "secrets": {"kind": "files", "directory": f"{HOME}/secrets"},
        "openstack": {**settings.config.get("openstack", {}), "clouds_file": f"{HOME}/clouds.yaml"},
        "pools": pools,
    }


def user_data(settings: ControllerSettings) -> str:
    """Return the `#cloud-config` of the controller machine.

    Raises `UserDataTooLargeError` when it would not fit.
    """
    files = [
        BootFile(f"{ETC}/boot.env", boot_files.boot_env(settings.boot)),
        BootFile(f"{ETC}/serve.env", _serve_env(settings)),
        BootFile(f"{_PLACED}/config.yaml", _yaml(configuration(settings))),
        BootFile(f"{_PLACED}/clouds.yaml", settings.clouds_yaml),
        *(BootFile(f"{_PLACED}/secrets/{name}", value) for name, value in settings.secrets.items()),
        BootFile(f"{_PLACED}/templates.json", _packed(settings.templates)),
        *boot_files.repository_files(settings.boot.repositories),
        *_tls_files(settings),
    ]
    if proxies := boot_files.proxy_env(settings.boot):
        files.append(BootFile(f"{ETC}/proxy.env", proxies))
    files += [
        BootFile(f"{boot.SCRIPT_FOLDER}/{name}", boot.script(name), "0755") for name in boot.SERVE_SCRIPTS
    ]
    files.append(BootFile(f"/etc/systemd/system/{boot.SERVE_UNIT}", boot.script(boot.SERVE_UNIT), "0644"))
    # cloud-init runs a command once, and goes on whatever becomes of it; a unit is run until it succeeds.
    return assemble(
        files, [["systemctl", "daemon-reload"], ["systemctl", "enable", "--now", boot.SERVE_UNIT]]
    )


def _packed(templates: Mapping[str, str]) -> str:
    """Return templates as numbered parts: those of pools are nearly the same, and Nova's limit is low."""
    numbers: dict[str, int] = {}
    pools = {
        name: [numbers.setdefault(part, len(numbers)) for part in _PART.split(text)]
        for name, text in templates.items()
    }
    return json.dumps({"pools": pools, "parts": list(numbers)}, ensure_ascii=False, indent=0)


def _yaml(document: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False)  # pyright: ignore[reportUnknownMemberType]
    return text


def _serve_env(settings: ControllerSettings) -> str:
    values = {
        "SHADOW_CALLBACK": settings.url.rstrip("/"),
        "SHADOW_WHEEL_URL": settings.wheel_url,
        "SHADOW_WHEEL_SHA256": settings.wheel_sha256,
        "SHADOW_PIP_INDEX_URL": settings.index_url,
        "SHADOW_DATA_VOLUME": settings.data_volume_id,
        "SHADOW_LISTEN_PORT": settings.port,
    }
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items())


def _tls_files(settings: ControllerSettings) -> list[BootFile]:
    if settings.tls == "none":
        return []
    files = [BootFile(f"{ETC}/Caddyfile", caddyfile(settings), "0644")]
    if settings.tls == "certificate":
        files.append(BootFile(f"{ETC}/tls/certificate.pem", settings.certificate, "0644"))
        files.append(BootFile(f"{ETC}/tls/key.pem", settings.private_key))
    return files


_PATIENCE = "\tservers {\n\t\ttimeouts {\n\t\t\tread_header 10s\n\t\t\tread_body 60s\n\t\t}\n\t}\n"
"""Strangers reach this port: a sender that dawdles must not hold a connection for ever."""


def caddyfile(settings: ControllerSettings) -> str:
    """Return the configuration of the TLS server in front of the controller."""
    host = urlsplit(settings.url).netloc
    email = f"\temail {settings.acme_email}\n" if settings.acme_email else ""
    own = "\ttls /etc/caddy/certificate.pem /etc/caddy/key.pem\n" if settings.tls == "certificate" else ""
    # A little over GitHub's largest payload, so that the service itself says what is wrong with a larger one.
    return (
        f"{{\n\tadmin off\n{email}{_PATIENCE}}}\n\n{host} {{\n{own}"
        "\trequest_body {\n\t\tmax_size 26MiB\n\t}\n"
        f"\treverse_proxy 127.0.0.1:{settings.port}\n}}\n"
    )
