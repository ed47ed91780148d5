"""What `recovery` makes of a state with begun creations."""

from typing import Any

from recovery import pending

SERVER, PORT = "urn:pulumi:s::p::openstack:compute/instance:Instance::gpu-01", "urn:pulumi:s::p::t::port"


def state(*operations: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": 3,
        "deployment": {"resources": [{"urn": "first"}], "pending_operations": list(operations)},
    }


def begun(urn: str, kind: str = "creating") -> dict[str, Any]:
    return {"type": kind, "resource": {"urn": urn, "type": "t", "inputs": {"userData": {"ciphertext": "x"}}}}


def test_what_exists_becomes_a_resource_with_its_inputs_and_the_rest_is_dropped() -> None:
    before = state(begun(SERVER), begun(PORT))
    after = pending.settled(before, {SERVER: "id-1"})["deployment"]
    assert [resource["urn"] for resource in after["resources"]] == ["first", SERVER]
    assert after["resources"][1]["id"] == "id-1"
    assert after["resources"][1]["outputs"] == {"userData": {"ciphertext": "x"}, "id": "id-1"}
    assert after["pending_operations"] == []
    assert len(before["deployment"]["pending_operations"]) == 2


def test_other_pending_operations_stay() -> None:
    after = pending.settled(state(begun(SERVER), begun(PORT, "deleting")), {})["deployment"]
    assert [entry["type"] for entry in after["pending_operations"]] == ["deleting"]


def test_a_state_without_pending_operations_has_no_creations() -> None:
    assert pending.creations({"deployment": {"resources": []}}) == []
    found = pending.creations(state(begun(SERVER), begun(PORT, "updating")))
    assert [entry.urn for entry in found] == [SERVER]
