"""`options`: further keys of the autoscaler's configuration, none of which replaces what the stack sets."""

from typing import Any

import autoscaler_options
import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from unit.infra import test_autoscaler_side as side
from unit.infra.test_autoscaler_certificate import KEY
from unit.infra.test_autoscaler_settings import load, no_tokens, pool

import settings
from shadow_gpu_runners import controller_boot

__all__ = ["no_tokens"]
surroundings = side.surroundings
CONTROLLER, POOL = autoscaler_options.CONTROLLER, autoscaler_options.POOL


def nested(key: str, value: object) -> dict[str, Any]:
    """Return the options that set one key, given with its way."""
    section, _, name = key.rpartition(".")
    return {section: {name: value}} if section else {name: value}


def fault(**section: Any) -> str:
    with pytest.raises(settings.SettingsError) as caught:
        load(**section)
    return str(caught.value)


@pytest.mark.parametrize("key", POOL)
def test_a_pools_options_leave_alone_what_its_own_keys_say(key: str) -> None:
    text = fault(pools=[pool(options={key: "planted"})])
    assert f"autoscaler.pools[0].options.{key}: got a value (not shown), expected none, since it" in text
    assert POOL[key] in text
    assert "planted" not in text


@pytest.mark.parametrize("key", CONTROLLER)
def test_the_controllers_options_leave_alone_what_the_stack_says(key: str) -> None:
    text = fault(options=nested(key, "planted"))
    assert f"autoscaler.options.{key}: got a value (not shown), expected none, since it" in text
    assert CONTROLLER[key] in text
    assert "planted" not in text


@pytest.mark.parametrize("name", ["openstack", "listen", "github"])
@pytest.mark.parametrize("value", ["odd", 5, None, [], True])
def test_a_section_of_options_is_a_map(name: str, value: object) -> None:
    assert f"autoscaler.options.{name}: got {value!r}, expected a map" in fault(options={name: value})


def test_options_for_a_forge_without_pools_are_refused() -> None:
    assert "autoscaler.options.gitlab: got options, expected a pool of gitlab" in fault(
        options={"gitlab": {"ca_file": "/x"}}
    )


@pytest.mark.parametrize("port", ["8080", 0, 65_536, True, None, 1.5])
def test_the_port_is_one(port: object) -> None:
    assert f"autoscaler.options.listen.port: got {port!r}, expected" in fault(
        options={"listen": {"port": port}}
    )


def configured(**section: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(side.placed(side.declared(**section))["/config.yaml"])
    return found


def test_further_keys_of_a_section_stand_beside_the_stacks() -> None:
    options = {"openstack": {"microversion": "2.90"}, "gitlab": {"ca_file": "/x"}, "listen": {"port": 8940}}
    found, plain = configured(options=options), configured(options={})
    assert found["openstack"] == plain["openstack"] | {"microversion": "2.90"}
    assert found["gitlab"] == plain["gitlab"] | {"ca_file": "/x"}
    assert found["listen"] == {"host": "127.0.0.1", "port": 8940}


def test_every_key_that_the_stack_sets_is_known_to_be_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is set and not listed could be replaced without a word."""
    key = KEY.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    monkeypatch.setitem(side.VALUES, "sshPublicKey", key)
    monkeypatch.setitem(side.VALUES, "autoscalerStatusToken", "planted8")
    pools = [{**each, "image": "noble"} for each in side.VALUES["autoscaler"]["pools"]]
    found = configured(options={}, pools=pools)
    assert {key for each in found["pools"] for key in each} == set(POOL)
    known = {
        f"{key}.{name}" if name else key
        for key, value in found.items()
        for name in (value if key in autoscaler_options.SECTIONS else [""])
    }
    assert known - {"listen.port"} == set(CONTROLLER)


def test_what_the_component_fills_in_is_known_to_be_its_own() -> None:
    made = controller_boot.ControllerSettings("u", {}, {}, {}, "", "", "", "p.s")
    filled = controller_boot.configuration(made)
    assert filled.keys() - set(autoscaler_options.SECTIONS) <= set(CONTROLLER)


def test_a_volume_is_made_before_its_machine_where_that_is_wanted() -> None:
    (hub, _) = side.VALUES["autoscaler"]["pools"]
    (found,) = configured(pools=[{**hub, "volume": {"size": 50, "premade": True}}])["pools"]
    assert found["volume"] == {"size_gib": 50, "type": "Wood", "premade": True}
