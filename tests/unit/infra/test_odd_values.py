"""The stack's configuration: whatever stands anywhere in it, its faults are named, with no traceback."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest
from pulumi.runtime import set_all_config

import settings

POOL = {"labels": ["gpu"], "flavors": ["edge-c4m16-gpu-2000-1"], "max": 2, "options": {"priority": 1}}
FULL: dict[str, Any] = {
    "cloud": "shadow-dev",
    "region": "LOCAL01",
    "network": {"externalNetwork": "ext-net", "dnsServers": ["192.0.2.1"]},
    "image": {"name": "ubuntu"},
    "pools": [{"name": "gpu", "flavor": "edge-c4m16-gpu-2000-1", "volume": {"size": 50}, "zones": ["a"]}],
    "gitlab": {"project": "acme/inference", "tags": ["gpu"], "docker": {"memory": "8g"}},
    "github": {"owner": "acme", "repositories": ["inference"], "webhook": {"url": "https://ci.example.com"}},
    "autoscaler": {
        "url": "https://ci.example.com",
        "flavor": "edge-c2m4",
        "tls": {"mode": "acme", "email": "ci@example.com"},
        "allowFrom": ["192.0.2.0/24"],
        "options": {"max_vms": 3, "openstack": {"microversion": "2.90"}},
        "pools": [
            {**POOL, "name": "hub", "forge": "github", "volume": {"size": 50}},
            {**POOL, "name": "lab", "forge": "gitlab", "zones": ["a"], "packages": ["git"]},
        ],
    },
}
SECRETS = dict.fromkeys(settings._SECRET_KEYS, "planted")
ODD: list[Any] = [None, True, 0, -1.5, 10**30, "", "odd", [], ["odd"], [[]], [{}], {}, {"odd": {}}]


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in settings._SECRET_KEYS.values():
        monkeypatch.delenv(variable, raising=False)


def load(values: dict[str, Any]) -> settings.Settings:
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in {**values, **SECRETS}.items()}
    set_all_config({f"{settings.NAMESPACE}:{key}": text for key, text in texts.items()})
    found, _ = settings.load(pulumi.Config(settings.NAMESPACE))
    return found


def places(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to each value below one."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    keys += range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield (key,)
        yield from ((key, *rest) for rest in places(value[key]))


def with_odd(place: tuple[str | int, ...], odd: Any) -> dict[str, Any]:
    values = copy.deepcopy(FULL)
    *way, last = place
    holder: Any = values
    for key in way:
        holder = holder[key]
    holder[last] = odd
    return values


def test_the_whole_configuration_is_a_good_one() -> None:
    assert load(FULL).autoscaler


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_value_ends_in_a_traceback(odd: Any) -> None:
    refused = 0
    for place in places(FULL):
        try:
            load(with_odd(place, odd))
        except settings.SettingsError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{place}: {odd!r}") from error
    assert refused


@pytest.mark.parametrize("forge", [["github"], {}, 1, None])
def test_a_forge_that_is_no_text_is_named(forge: Any) -> None:
    with pytest.raises(settings.SettingsError, match=r"autoscaler\.pools\[0\]\.forge: .*, got "):
        load(with_odd(("autoscaler", "pools", 0, "forge"), forge))
