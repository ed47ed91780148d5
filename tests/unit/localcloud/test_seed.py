"""What the empty cloud offers follows from the catalog."""

import pytest

from localcloud.openstack import seed, tenants
from shadow_gpu_runners import catalog


def test_every_offer_has_both_markets() -> None:
    names = {flavor.name for flavor in seed.flavors()}
    assert set(catalog.known_names()) <= names
    for name in names & set(catalog.known_names()):
        parsed = catalog.FlavorName.parse(name)
        assert {str(parsed.on_demand()), str(parsed.preemptible())} <= names


def test_gpu_flavors_boot_from_volumes_and_ask_for_their_cards() -> None:
    by_name = {flavor.name: flavor for flavor in seed.flavors()}
    small = by_name["boost-preemptible-c16m64-gpu-a4500-2"]
    assert (small.vcpus, small.ram_mib, small.disk_gib, small.gpus) == (16, 65536, 0, "a4500:2")
    assert by_name["edge-preemptible-c4m16-gpu-2000-1"].gpus == "rtx2000:1"
    assert by_name["micro-c1m2"].gpus == ""


def test_the_fingerprint_follows_the_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    before = seed.fingerprint()
    assert seed.fingerprint() == before
    monkeypatch.setattr(seed, "IMAGE", "ubuntu-24.04-cuda")
    assert seed.fingerprint() != before


def test_a_misspelled_quota_is_refused_before_anything_is_made() -> None:
    with pytest.raises(ValueError, match=r"unknown quotas \['instance'\]; expected some of .*'instances'"):
        tenants.make("nobody", {"instance": 1})
