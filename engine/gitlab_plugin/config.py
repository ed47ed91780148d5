"""Provider configuration: from the engine's inputs first, then from the environment."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from gitlab_plugin.values import UNKNOWN

Failures = list[tuple[str, str]]
"""(property, reason) for every fault found."""

_GITLAB_COM: Final = "https://gitlab.com"
_RETRIES: Final = 3
_STRINGS: Final = ("baseUrl", "cacertFile", "clientCert", "clientKey", "token")
_JSON: Final = {"earlyAuthCheck": bool, "headers": dict, "insecure": bool, "retries": int}
_NOT_SERVED: Final = ("configFile", "context", "enableAutoCiSupport")
_ENGINE_KEYS: Final = ("version", "pluginDownloadURL")
PROPERTIES: Final = (*_STRINGS, *_JSON, *_NOT_SERVED)
"""Every configuration property of the official provider."""


@dataclass(frozen=True, slots=True)
class Config:
    """Where GitLab is and how to reach it."""

    base_url: str = _GITLAB_COM
    token: str = field(default="", repr=False)
    insecure: bool = False
    cacert_file: str = ""
    client_cert: str = ""
    client_key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retries: int = _RETRIES
    early_auth_check: bool = True


def parse(inputs: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> tuple[Config, Failures]:
    """Build the configuration; every fault is returned, none raised. Unknown values are taken as unset."""
    env = os.environ if environment is None else environment
    known = {name: value for name, value in inputs.items() if value is not None and value is not UNKNOWN}
    values, failures = _decoded(known)
    values.setdefault("token", env.get("GITLAB_TOKEN", ""))
    values.setdefault("baseUrl", env.get("GITLAB_BASE_URL") or _GITLAB_COM)
    values.setdefault("earlyAuthCheck", env.get("GITLAB_EARLY_AUTH_CHECK", "true").lower() != "false")
    failures += _url_faults(values["baseUrl"]) + _file_faults(values)
    if not values["token"] and inputs.get("token") is not UNKNOWN:
        failures.append(("token", "no token: set config gitlab:token (secret) or the variable GITLAB_TOKEN"))
    return _config(values), failures


def _decoded(known: Mapping[str, Any]) -> tuple[dict[str, Any], Failures]:
    values: dict[str, Any] = {}
    failures: Failures = []
    for name, raw in known.items():
        if name in _NOT_SERVED:
            failures.append((name, "not served by this stand-in; set token and baseUrl instead"))
        elif name not in PROPERTIES and name not in _ENGINE_KEYS:
            failures.append(
                (name, f"no such configuration property; expected one of {', '.join(PROPERTIES)}")
            )
        else:
            _decode(name, raw, values, failures)
    return values, failures


def _decode(name: str, raw: Any, values: dict[str, Any], failures: Failures) -> None:
    expected = _JSON.get(name, str)
    try:
        value = json.loads(raw) if name in _JSON and isinstance(raw, str) else raw
    except json.JSONDecodeError:
        value = raw
    if expected is int and isinstance(value, float):
        value = int(value)
    if isinstance(value, expected):
        values[name] = value
    else:
        failures.append((name, f"{value!r} is not a {expected.__name__}"))


def _url_faults(url: str) -> Failures:
    parts = urlsplit(url)
    if parts.scheme in {"http", "https"} and parts.hostname:
        return []
    return [
        ("baseUrl", f"{url!r} is not an address; expected for example https://gitlab.example.com/api/v4/")
    ]


def _file_faults(values: Mapping[str, Any]) -> Failures:
    faults = [
        (name, f"the file {values[name]!r} does not exist or cannot be read")
        for name in ("cacertFile", "clientCert", "clientKey")
        if values.get(name) and not Path(values[name]).is_file()
    ]
    if bool(values.get("clientCert")) != bool(values.get("clientKey")):
        faults.append(("clientKey", "clientCert and clientKey belong together; set both or none"))
    return faults


def _config(values: Mapping[str, Any]) -> Config:
    return Config(
        base_url=values["baseUrl"].rstrip("/").removesuffix("/api/v4"),
        token=values["token"],
        insecure=values.get("insecure", False),
        cacert_file=values.get("cacertFile", ""),
        client_cert=values.get("clientCert", ""),
        client_key=values.get("clientKey", ""),
        headers=values.get("headers", {}),
        retries=values.get("retries", _RETRIES),
        early_auth_check=values["earlyAuthCheck"],
    )
