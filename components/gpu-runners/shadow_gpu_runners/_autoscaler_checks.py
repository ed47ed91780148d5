"""Faults of the autoscaler's inputs, all of them, before anything is made."""

import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from shadow_gpu_runners import _egress, _known
from shadow_gpu_runners._addresses import is_everywhere, parse
from shadow_gpu_runners._egress import EgressRuleArgs
from shadow_gpu_runners._validation import Problems
from shadow_gpu_runners._validation import camel as camel  # noqa: PLC0414 - used by the component
from shadow_gpu_runners.cloud_init import MAX_USER_DATA_BYTES, encoded_size

_WHEEL = re.compile(r"^https?://\S+\.whl#sha256=[0-9a-f]{64}$")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_APIS = {5000: "Keystone", 8774: "Nova", 8776: "Cinder", 9292: "Glance", 9696: "Neutron", 8778: "Placement"}
_FILLED_IN = ("deployment", "callback_url", "store", "secrets", "consoles")
EGRESS: tuple[EgressRuleArgs, ...] = (
    *_egress.DEFAULT,
    *(
        EgressRuleArgs(protocol="tcp", port=port, description=f"OpenStack {name}")
        for port, name in _APIS.items()
    ),
)
"""What the controller may reach where nothing else is said."""


def port_of(config: Mapping[str, Any]) -> int:
    """Return the loopback port that the service listens on."""
    return int(config.get("listen", {}).get("port", 8080))


def check(name: str, args: Any, spec: type) -> None:
    """Raise with every fault of `args`, as far as they are known."""
    problems = Problems(f"Autoscaler {name!r}")
    _known.check_kinds(problems, args, spec)
    values = _known.table(args)
    _check_address(problems, values)
    if not _WHEEL.match(str(values["wheel"])):
        expected = "the address of a wheel ending in #sha256= and 64 hexadecimal digits"
        problems.add("wheel", values["wheel"], expected, "see `sha256sum dist/*.whl`")
    _check_config(problems, values)
    for key in ("allow_from", "ssh_from"):
        for index, text in enumerate(cast("list[str]", values.get(key, []))):
            parse(problems, f"{camel(key)}[{index}]", text)
            if key == "ssh_from" and is_everywhere(text):
                problems.add(f"sshFrom[{index}]", text, "the range of the administrators", "narrow it")
    _egress.check(problems, cast("list[EgressRuleArgs] | None", values.get("egress")))
    problems.raise_if_any()


def _check_address(problems: Problems, values: Mapping[str, object]) -> None:
    url, tls = urlsplit(str(values["url"])), _known.table(values.get("tls"))
    mode = str(tls.get("mode", "acme"))
    problems.one_of("tls.mode", mode, ("acme", "certificate", "none"))
    if url.scheme not in {"http", "https"} or not url.hostname or url.path not in {"", "/"}:
        problems.add("url", values["url"], "a web address without a path", "such as https://ci.example.com")
    elif mode == "none" and url.scheme == "https":
        problems.add("tls.mode", mode, "acme or certificate for an https address", "choose one")
    elif mode != "none" and url.scheme == "http":
        problems.add("url", values["url"], "https with TLS", "correct it, or set tls.mode to none")
    elif mode == "none" and url.hostname not in _LOOPBACK:
        problems.add(
            "tls.mode", mode, "TLS for an address that is not this machine's own", "use acme or certificate"
        )
    if mode == "certificate" and not (tls.get("certificate") and tls.get("private_key")):
        problems.add_missing("tls.certificate", "certificate and privateKey in PEM form", "give both")


def _check_config(problems: Problems, values: Mapping[str, object]) -> None:
    config, templates = _known.table(values["config"]), _known.table(values["user_data"])
    for key in _FILLED_IN:
        if key in config:
            problems.add(f"config.{key}", config[key], "no value, since the component sets it", "remove it")
    _check_listen(problems, config.get("listen", {}))
    names = [str(pool.get("name")) for pool in _pools(problems, config.get("pools"))]
    for name in sorted(set(names) ^ set(templates)):
        problems.add(
            f"userData.{name}", name, "one template for each pool in config.pools", "make them agree"
        )
    for name in _names_of_secrets(config):
        if name not in _known.table(values["secrets"]):
            problems.add_missing(f"secrets.{name}", "the secret that config refers to", "add it")


def _pools(problems: Problems, found: object) -> list[Mapping[str, object]]:
    where = ("at least one pool", "see docs/reference/autoscaler-config.md")
    if not found:
        problems.add_missing("config.pools", *where)
    elif not isinstance(found, list):
        problems.add("config.pools", found, f"a list of {where[0]}", where[1])
    pools = cast("list[object]", found) if isinstance(found, list) else []
    for index, pool in enumerate(pools):
        if not isinstance(pool, Mapping):
            problems.add(f"config.pools[{index}]", pool, "a table", where[1])
    return [cast("Mapping[str, object]", pool) for pool in pools if isinstance(pool, Mapping)]


def _check_listen(problems: Problems, found: object) -> None:
    if not isinstance(found, Mapping):
        problems.add("config.listen", found, "a table", "such as port: 8080")
        return
    port = cast("Mapping[str, object]", found).get("port", 8080)
    # Programs in YAML and Node.js hand whole numbers over as floats.
    if isinstance(port, bool) or not isinstance(port, int | float) or port not in range(1, 65_536):
        problems.add("config.listen.port", port, "a whole number from 1 to 65535", "correct it")


_SECRET_KEYS = frozenset(
    {
        *("private_key", "token", "webhook_secret", "webhook_token", "signing_secret"),
        *("callback_key", "status_token", "metrics_token"),
    }
)


def _names_of_secrets(config: Mapping[str, object]) -> list[str]:
    """Return the names of all secrets that a configuration refers to."""
    found = [str(config.get("callback_key", "callback-key"))]
    for part in (config, _known.table(config.get("github")), _known.table(config.get("gitlab"))):
        found += [str(part[key]) for key in sorted(_SECRET_KEYS & part.keys()) if isinstance(part[key], str)]
    tokens = _known.table(_known.table(config.get("gitlab")).get("runner_tokens"))
    return sorted({*found, *(str(name) for name in tokens.values())})


def check_user_data(problems: Problems, text: str) -> None:
    """Note a fault of user-data that Nova would refuse."""
    if encoded_size(text) > MAX_USER_DATA_BYTES:
        size = f"{encoded_size(text):,} bytes after base64"
        problems.add("userData", size, f"at most {MAX_USER_DATA_BYTES:,}", "use fewer pools per controller")
