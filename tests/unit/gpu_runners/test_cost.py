"""Cost estimates: exact money, nothing free without saying so, before and after."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shadow_gpu_runners.cost import Item, estimate, estimate_preview, items
from shadow_gpu_runners.preview import PreviewError, Resource, read
from shadow_gpu_runners.prices import PriceBook, default_book

ON_DEMAND = "boost-c8m32-gpu-a4500-1"
SPOT = "boost-preemptible-c8m32-gpu-a4500-1"
TYPES = {
    "vm": "openstack:compute/instance:Instance",
    "volume": "openstack:blockstorage/volume:Volume",
    "address": "openstack:networking/floatingIp:FloatingIp",
}


def urn(name: str, kind: str = "vm") -> str:
    return f"urn:pulumi:dev::acme::shadow-gpu-runners:index:InstanceGroup${TYPES[kind]}::{name}"


def state(name: str, kind: str = "vm", **inputs: Any) -> dict[str, Any]:
    return {"urn": urn(name, kind), "type": TYPES[kind], "inputs": inputs}


def step(op: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any]:
    return {"op": op, "urn": (old or new or {})["urn"], "oldState": old, "newState": new}


def test_spot_to_on_demand() -> None:
    old, new = state("ci-01", flavorName=SPOT), state("ci-01", flavorName=ON_DEMAND)
    steps = [
        step("create-replacement", old, new),
        step("replace", old, new),
        step("delete-replaced", old, None),
    ]
    found = estimate_preview({"steps": steps})
    (line,) = found.lines
    assert (line.market, line.item.name) == ("on demand", "ci-01")
    assert found.before.actual == Decimal("255.50")
    assert found.after.actual == Decimal("425.81")
    assert found.change == Decimal("170.31")
    assert found.saving == Decimal(0)
    assert any("assumed" in source and "2026-11-30" in source for source in found.assumed)


def test_create_update_same_and_delete() -> None:
    kept = state("ci-01", flavorName=SPOT)
    found = estimate_preview(
        {
            "steps": [
                step("same", kept, kept),
                step("create", None, state("ci-02", flavorName=SPOT)),
                step("delete", state("ci-03", flavorName=ON_DEMAND), None),
            ]
        }
    )
    assert [(line.before is None, line.after is None) for line in found.lines] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert found.before.actual == Decimal("681.31")
    assert found.after.actual == Decimal("511.00")
    assert found.after.on_demand == Decimal("851.62")
    assert found.saving == Decimal("340.62")


def test_an_unknown_flavor_is_listed_and_never_free() -> None:
    found = estimate_preview({"steps": [step("create", None, state("ci-01", flavorName="huge"))]})
    assert found.lines[0].after is not None
    assert found.lines[0].after.actual is None
    assert found.unpriced == ("ci-01: flavor huge: no price",)


def test_a_flavor_that_is_not_known_yet_is_listed() -> None:
    found = estimate_preview({"steps": [step("create", None, state("ci-01"))]})
    assert "not known yet" in found.unpriced[0]


def test_volumes_and_addresses_have_no_price_and_it_is_said() -> None:
    device = {"sourceType": "image", "destinationType": "volume", "volumeType": "Wood", "volumeSize": 100}
    kept = {"sourceType": "volume", "destinationType": "volume", "uuid": "v"}
    steps = [
        step("create", None, state("ci-01", flavorName=SPOT, blockDevices=[device, kept])),
        step("create", None, state("data", "volume", size=50.0, volumeType="Silver")),
        step("create", None, state("ci-01-address", "address", pool="ext-net")),
    ]
    found = estimate_preview({"steps": steps})
    assert found.unpriced == (
        "ci-01: 100 GiB of volume type Wood: no price",
        "data: 50 GiB of volume type Silver: no price",
        "ci-01-address: floating IP: no price",
    )
    assert found.after.actual == Decimal("255.50")


def test_a_shut_off_server_is_billed_and_a_shelved_one_is_not() -> None:
    found = estimate_preview(
        {
            "steps": [
                step("create", None, state("off", flavorName=SPOT, powerState="shutoff")),
                step("create", None, state("away", flavorName=SPOT, powerState="shelved_offloaded")),
            ]
        }
    )
    assert found.after.actual == Decimal("255.50")
    assert any("shut off" in note for note in found.notes)


def test_a_flavor_left_to_an_id_is_taken_from_the_outputs() -> None:
    old = {**state("ci-01", flavorId="1"), "outputs": {"flavorName": SPOT}}
    found = estimate_preview({"steps": [step("delete", old, None)]})
    assert found.before.actual == Decimal("255.50")
    assert found.after.actual == Decimal(0)


def test_text_before_the_json_is_skipped_and_unlisted_resources_are_told() -> None:
    digest = {"steps": [step("create", None, state("ci-01", flavorName=SPOT))], "changeSummary": {"same": 4}}
    found = estimate_preview("Installing policy pack...\n" + json.dumps(digest, indent=4) + "\nlater")
    assert found.after.actual == Decimal("255.50")
    assert "4 unchanged resource(s)" in found.notes[-1]


@pytest.mark.parametrize("text", ["", "error: no stack", '{"steps": ['])
def test_what_is_no_preview_is_refused_with_the_command(text: str) -> None:
    with pytest.raises(PreviewError, match="pulumi preview --json --show-sames"):
        read(text)


def test_the_stack_itself_is_not_an_unlisted_resource() -> None:
    stack = {"op": "same", "urn": "urn:pulumi:dev::acme::pulumi:pulumi:Stack::acme-dev"}
    assert read({"steps": [stack], "changeSummary": {"same": 1}}).unchanged_left_out == 0


def test_a_book_without_the_twin_says_so() -> None:
    only_spot = PriceBook(flavors={SPOT: default_book().flavors[SPOT]})
    found = estimate([], [Item(urn("ci-01"), "server", SPOT)], only_spot)
    assert found.unpriced == (f"ci-01: flavor {SPOT}: no price of its on-demand twin",)
    assert found.saving == Decimal(0)


FLAVORS = st.sampled_from([*default_book().flavors, "huge"])
GROUPS = st.lists(FLAVORS, max_size=12)


def servers(flavors: list[str]) -> list[Item]:
    return items(
        Resource(urn(f"ci-{number:02d}"), TYPES["vm"], {"flavorName": flavor}, {})
        for number, flavor in enumerate(flavors)
    )


@given(before=GROUPS, after=GROUPS)
def test_sums_are_the_sums_of_the_lines_to_the_cent(before: list[str], after: list[str]) -> None:
    found = estimate(servers(before), servers(after))
    for total, amounts in (
        (found.before, [line.before for line in found.lines]),
        (found.after, [line.after for line in found.lines]),
    ):
        shown = [amount.actual for amount in amounts if amount and amount.actual is not None]
        assert total.actual == sum(shown, Decimal(0))
        assert all(amount == amount.quantize(Decimal("0.01")) for amount in shown)


@given(flavors=GROUPS)
def test_no_change_costs_nothing_and_the_way_back_undoes_it(flavors: list[str]) -> None:
    assert estimate(servers(flavors), servers(flavors)).change == 0
    there, back = estimate([], servers(flavors)), estimate(servers(flavors), [])
    assert there.change == -back.change


@given(flavors=GROUPS)
def test_spot_never_costs_more_than_on_demand(flavors: list[str]) -> None:
    found = estimate([], servers(flavors))
    assert found.saving >= 0
    assert found.after.spot is not None
    assert found.after.on_demand is not None
    assert found.after.spot <= found.after.on_demand


@given(flavors=GROUPS)
def test_what_has_no_price_is_listed_as_often_as_it_is_there(flavors: list[str]) -> None:
    assert len(estimate([], servers(flavors)).unpriced) == flavors.count("huge")


def test_what_is_looked_at_grows_with_the_number_of_items_and_no_faster() -> None:
    # Counted in comparisons of URNs, not in seconds.
    class Urn(str):
        compared = 0
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            Urn.compared += 1
            return str.__eq__(self, str(other))

        __hash__ = str.__hash__

    estimate([], [Item(Urn(f"urn::{number}"), "server", "f") for number in range(300)])
    assert Urn.compared < 300 * 30
