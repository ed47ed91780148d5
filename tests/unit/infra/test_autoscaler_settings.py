"""The autoscaler's section: what it must agree on with the stack's rest, and what the cloud must have."""

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pulumi
import pytest
from pulumi.runtime import set_all_config

import settings
from preflight import cloud, machines, quotas
from shadow_gpu_runners import ownership
from shadow_gpu_runners.quota import NAMES, Limit

if TYPE_CHECKING:
    from openstack.connection import Connection

SECTION: dict[str, Any] = {
    "url": "https://ci.example.com",
    "flavor": "edge-c2m4",
    "pools": [
        {"name": "hub", "forge": "github", "labels": ["gpu"], "flavors": ["edge-c4m16-gpu-2000-1"], "max": 2}
    ],
}
SECRETS = {"githubToken": "t", "webhookSecret": "s", "autoscalerCallbackKey": "k"}
GOOD: dict[str, Any] = {
    "cloud": "shadow-dev",
    "region": "LOCAL01",
    "network": {"externalNetwork": "ext-net"},
    "image": {"name": "ubuntu"},
    "pools": [],
    "github": {"owner": "acme", "repositories": ["inference"]},
    "autoscaler": SECTION,
    **SECRETS,
}


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in settings._SECRET_KEYS.values():
        monkeypatch.delenv(variable, raising=False)


def load(**section: Any) -> settings.Settings:
    values = {**GOOD, "autoscaler": {**SECTION, **section}}
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in values.items()}
    set_all_config({f"{settings.NAMESPACE}:{key}": text for key, text in texts.items()})
    found, _ = settings.load(pulumi.Config(settings.NAMESPACE))
    return found


def pool(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SECTION["pools"][0]), **changes}


def test_a_good_section_is_taken() -> None:
    assert load().autoscaler


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"pools": [pool(), pool()]}, "autoscaler.pools: the name 'hub' is used 2 times"),
        ({"pools": [pool(forge="gitlab")]}, "expected shadow-gpu-runners:gitlab to be set up"),
    ],
)
def test_a_fault_names_its_key_and_what_to_do(section: dict[str, Any], told: str) -> None:
    with pytest.raises(settings.SettingsError) as caught:
        load(**section)
    assert told in str(caught.value)


def test_an_address_needs_a_network_to_take_it_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GOOD, "network", {"networkId": "n"})
    assert load().autoscaler
    with pytest.raises(settings.SettingsError, match=r"autoscaler.floatingIp: got true"):
        load(floatingIp=True)


def named(*names: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(name=name) for name in names]


class Cloud:
    """A project with little in it, asked as the SDK is."""

    def __init__(self) -> None:
        self.compute = self.image = self.block_storage = self

    def flavors(self) -> list[SimpleNamespace]:
        return named("edge-c4m16-gpu-2000-1")

    def availability_zones(self) -> list[SimpleNamespace]:
        return named("zone-a")

    def types(self) -> list[SimpleNamespace]:
        return named("Wood")

    def images(self, name: str = "", status: str = "") -> list[SimpleNamespace]:
        return [image for image in named("ubuntu") if name in ("", image.name)]


def test_what_the_cloud_lacks_for_controller_and_pools_is_found_before_anything_is_made() -> None:
    connection = cast("Connection", Cloud())
    wrong = pool(name="lab", image="noble", zones=["zone-q"], volume={"type": "Gold"})
    found = load(pools=[pool(localDisk=True, market="on-demand"), wrong], image="jammy")
    places = [
        finding.place
        for name, inspect in cloud._CHECKS.items()
        if "Neutron" not in name
        for finding in inspect(connection, found)
    ]
    assert places == [
        "autoscaler.flavor (Nova)",
        "autoscaler.pools[1].flavors (Nova)",  # the spot twin
        "autoscaler.image (Glance)",
        "autoscaler.pools[1].image (Glance)",
        "autoscaler.pools[1].volume.type (Cinder)",
        "autoscaler.pools[1].zones (Nova)",
    ]


def test_a_market_buys_twins_before_what_they_are_twins_of() -> None:
    name, twin = "edge-c4m16-gpu-2000-1", "edge-preemptible-c4m16-gpu-2000-1"
    assert machines.bought([name], "spot") == (twin,)
    assert machines.bought([name], "on-demand") == (name,)
    assert machines.bought([name], "spot-then-on-demand") == (twin, name)


def test_a_credential_of_the_controllers_own_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clouds.yaml").write_text("clouds: {}\n")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
    (finding,) = cloud.check_controller(load(cloud="controller"))
    assert "cloud 'controller'" in str(finding)
    assert "clouds.yaml can't be used" in str(finding)
    assert cloud.check_controller(load(cloud=GOOD["cloud"])) == []


class Project(Cloud):
    """A project with a quota, in which the controller, one machine of a job and a stranger's run."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.network = self

    def flavors(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="edge-c2m4", vcpus=2, ram=4096)]

    def servers(self) -> list[SimpleNamespace]:
        size = {"vcpus": 2, "ram": 4096}
        marks = [
            ownership.metadata("p.s", "autoscaler-controller"),
            ownership.metadata("p.s", ownership.MADE_BY_AUTOSCALER),
            {},
        ]
        return [SimpleNamespace(metadata=mark, flavor=size, attached_volumes=[]) for mark in marks]

    def ports(self, tags: str) -> list[object]:
        return []

    ips = ports


@pytest.mark.parametrize(("limit", "fits"), [(3, True), (2, False)])
def test_the_controller_needs_room_and_job_machines_take_theirs(
    monkeypatch: pytest.MonkeyPatch, limit: int, fits: bool
) -> None:
    used = {"instances": Limit(limit, 3)}
    monkeypatch.setattr(quotas, "limits", lambda _: dict.fromkeys(NAMES, Limit(-1, 0)) | used)
    found = list(quotas.check(cast("Connection", Project(limit)), load(), "p.s"))
    assert [finding.place for finding in found] == ([] if fits else ["pools (quota of instances)"])
    if found:
        assert "the pools and the controller need 1, the project has room for 0" in found[0].problem
