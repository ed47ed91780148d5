"""The configuration file: what it accepts, what it refuses, and how it says so."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from shadow_autoscaler.adapters import openstack
from shadow_autoscaler.adapters.openstack import BootVolume, OpenStackSettings
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Market
from shadow_autoscaler.edge import adapters
from shadow_autoscaler.edge.config import Config, ConfigError, describe, load, parse

ROOT = Path(__file__).parents[4]


def document(**changes: Any) -> dict[str, Any]:
    """Return a good configuration with `changes` on top."""
    good: dict[str, Any] = {
        "deployment": "acme-ci",
        "callback_url": "https://autoscaler.example.com",
        "store": {"path": "autoscaler.db"},
        "secrets": {"directory": "secrets"},
        "github": {"owner": "acme", "app_id": "71", "private_key": "app-key", "webhook_secret": "hook"},
        "gitlab": {
            "token": "gitlab-token",
            "projects": ["acme/models"],
            "webhook_token": "gitlab-hook",
            "runner_tokens": {"a4500": "runner-a4500"},
        },
        "openstack": {"cloud": "shadow", "image": "ubuntu", "network_id": "net-1"},
        "pools": [pool(), pool(name="a4500", forge="gitlab")],
    }
    return good | changes


def pool(**changes: Any) -> dict[str, Any]:
    """Return a good pool with `changes` on top."""
    good: dict[str, Any] = {
        "name": "rtx2000",
        "forge": "github",
        "labels": ["self-hosted", "shadow-gpu"],
        "ladder": [{"flavor": "edge-preemptible-c4m16-gpu-2000-1", "market": "spot", "eur_per_hour": 0.29}],
        "max": 3,
        "user_data_file": "pool.yaml",
    }
    return good | changes


def faults(**changes: Any) -> dict[str, str]:
    """Return the faults of a configuration as {key: whole line}."""
    with pytest.raises(ConfigError) as raised:
        parse(yaml.safe_dump(document(**changes)))
    return {fault.key: str(fault) for fault in raised.value.faults}


def test_a_good_file_becomes_what_the_core_decides_by() -> None:
    config = parse(yaml.safe_dump(document(pools=[pool(boot_timeout="15m", spot_up_to="1.5h")], gitlab=None)))
    deployment = config.to_core()
    assert deployment.deployment_id == "acme-ci"
    assert deployment.pools[0].forge is ForgeKind.GITHUB
    assert deployment.pools[0].ladder[0].market is Market.SPOT
    assert (deployment.pools[0].boot_timeout_s, deployment.pools[0].spot_up_to_s) == (900.0, 5400.0)


def test_every_fault_is_told_at_once_with_key_value_expectation_and_remedy() -> None:
    found = faults(
        deployment="Acme!",
        pools=[pool(maxx=4, max=0), pool(ladder=[{"flavor": "x", "market": "cheap"}])],
        github={"owner": "acme", "webhook_secret": "hook"},
        secrets={},
    )
    assert "got 'Acme!'" in found["deployment"]
    assert "did you mean 'max'?" in found["pools[0].maxx"]
    assert found["pools[0].max"] == ("pools[0].max: got 0, expected at least 1; change it: Live VMs at most.")
    assert "one of 'spot' or 'on-demand'" in found["pools[1].ladder[0].market"]
    assert "neither token nor app_id" in found["github"]
    assert "secrets.kind is files" in found["secrets.directory"]


@pytest.mark.parametrize("value", ["ghp_0123456789abcdefghij", "-----BEGIN KEY-----", "has spaces s3cret"])
def test_a_secret_in_place_of_its_name_is_refused_and_not_shown(value: str) -> None:
    found = faults(github={"owner": "acme", "token": value, "webhook_secret": "hook"})
    assert "not shown" in found["github.token"]
    assert value not in "".join(found.values())


@pytest.mark.parametrize(
    ("changes", "key", "part"),
    [
        ({"github": None}, "github", "pool 'rtx2000' serves github"),
        ({"pools": [pool(), pool()]}, "pools[1].name", "got 'rtx2000' twice"),
        ({"pools": [pool(labels=["GPU", "gpu"])]}, "pools[0].labels", "differ in more than case"),
        ({"pools": [pool(idle=[{"count": 9}])]}, "pools[0].idle[0].count", "at most max, 3"),
        ({"pools": [pool(idle=[{"count": 1, "timezone": "Mars/One"}])]}, "pools[0].idle[0].timezone", "IANA"),
        ({"pools": [pool(idle=[{"count": 1, "end": "00:00"}])]}, "pools[0].idle[0].end", "another time"),
        ({"pools": [pool(boot_timeout="soon")]}, "pools[0].boot_timeout", "unit such as 15m"),
        ({"pools": []}, "pools", "at least 1 entries"),
        ({"pools": [pool(name="b", forge="gitlab")]}, "gitlab.runner_tokens.b", "missing"),
        ({"max_vms": 1.5}, "max_vms", "a whole number"),
        ({"callback_url": "example.com"}, "callback_url", "got 'example.com'"),
        ({"storage": {}}, "storage", "did you mean 'store'?"),
        ({"store": {"kind": "dynamodb"}}, "store.table", "store.kind is dynamodb"),
        ({"listen": 8080}, "listen", "keys with values"),
        ({"pools": [pool(boot_timeout=1)]}, "pools[0].boot_timeout", "got 1, expected 1m to 1d; change it"),
        ({"pools": [pool(pickup_timeout="0s")]}, "pools[0].pickup_timeout", "got '0s'"),
        ({"pools": [pool(job_deadline="2s")]}, "pools[0].job_deadline", "expected 1m to 365d"),
        ({"pools": [pool(idle_timeout="900d")]}, "pools[0].idle_timeout", "expected 1m to 1d"),
        ({"pools": [pool(max_lifetime="10m")]}, "pools[0].max_lifetime", "got 10m, expected at least boot"),
        ({"sweep_grace": 0.1}, "sweep_grace", "expected 1s to 1d"),
        ({"intervals": {"tick": 0.001}}, "intervals.tick", "expected 1s to 1m"),
        ({"intervals": {"tick": "10m"}}, "intervals.tick", "expected 1s to 1m"),
    ],
)
def test_faults(changes: dict[str, Any], key: str, part: str) -> None:
    assert part in faults(**changes)[key]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: 1\na: 2\n", "line 2: key 'a' is given twice"),
        ("a: [", "line 1"),
        ("- a\n", "got list, expected keys with values"),
        ("", "got NoneType"),
        ("a: !!python/object:os.system {}", "could not determine a constructor"),
    ],
)
def test_what_is_no_configuration_at_all(text: str, part: str) -> None:
    with pytest.raises(ConfigError, match="1 fault") as raised:
        parse(text)
    assert part in str(raised.value)


def test_a_missing_file_names_itself_and_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give its path with --config"):
        load(tmp_path / "none.yaml")


def test_templates_are_checked_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text("#cloud-config\n# @SHADOW_VM@ @SHADOW_TICKET@\n")
    file = tmp_path / "autoscaler.yaml"
    file.write_text(yaml.safe_dump(document(pools=[pool(), pool(name="big", user_data_file="absent.yaml")])))
    with pytest.raises(ConfigError) as raised:
        load(file)
    text = str(raised.value)
    assert "pools[0].user_data_file: no @SHADOW_CALLBACK@ in it" in text
    assert "pools[1].user_data_file: got 'absent.yaml' (No such file or directory)" in text
    assert load_without_gitlab(file)


def load_without_gitlab(file: Path) -> Config:
    """Return the configuration once its template is whole."""
    (file.parent / "pool.yaml").write_text("@SHADOW_VM@ @SHADOW_TICKET@ @SHADOW_CALLBACK@")
    file.write_text(yaml.safe_dump(document()))
    return load(file)


def test_a_template_that_nova_would_refuse_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text("@SHADOW_VM@ @SHADOW_TICKET@ @SHADOW_CALLBACK@" + "x" * 49_000)
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(document()))
    with pytest.raises(ConfigError, match="at most 65535"):
        load(tmp_path / "c.yaml")


def test_what_is_made_before_the_server_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[OpenStackSettings] = []
    monkeypatch.setattr(openstack, "OpenStackCloud", made.append)
    section = document()["openstack"] | {"premade_port": True, "volume": {"size_gib": 40, "premade": True}}
    own = pool(name="own", volume={"size_gib": 80})
    adapters.cloud(parse(yaml.safe_dump(document(openstack=section, pools=[pool(), own], gitlab=None))))
    (settings,) = made
    assert settings.machine_of("rtx2000").premade_port
    assert settings.machine_of("rtx2000").volume == BootVolume(40, premade=True)
    assert settings.machine_of("own").premade_port
    assert settings.machine_of("own").volume == BootVolume(80)


def test_every_tiny_duration_is_told_at_once() -> None:
    names = ("tick", "servers", "jobs", "leftovers", "quota", "redelivery")
    limits = (
        "boot_timeout",
        "pickup_timeout",
        "job_deadline",
        "queue_deadline",
        "max_lifetime",
        "idle_timeout",
    )
    found = faults(
        intervals=dict.fromkeys(names, 0.01),
        pools=[pool(**dict.fromkeys(limits, "0.1s"))],
        gitlab=None,
    )
    assert {f"intervals.{name}" for name in names} <= set(found)
    assert {f"pools[0].{name}" for name in limits} <= set(found)


def test_the_schema_refuses_a_tiny_duration() -> None:
    schema = json.loads(describe.schema())
    jsonschema.validate(document(intervals={"tick": "5s"}), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(intervals={"tick": 0.01}), schema)


def test_the_committed_schema_is_the_model_s() -> None:
    committed = (ROOT / "docs/reference/autoscaler-config.schema.json").read_text()
    assert committed == describe.schema()


def test_the_schema_takes_a_good_file_and_refuses_a_bad_one() -> None:
    schema = json.loads(describe.schema())
    jsonschema.validate(document(), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(pools=[pool(max=0)]), schema)


@pytest.mark.parametrize("text", ["? [a, b]\n: 1\n", "[" * 20_000, "a: &a [*a]\n", "&m\ngithub: *m\n"])
def test_what_yaml_cannot_make_a_document_of_is_a_fault_like_any_other(text: str) -> None:
    with pytest.raises(ConfigError):
        parse(text)
