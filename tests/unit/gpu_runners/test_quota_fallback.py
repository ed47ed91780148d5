"""What a plan needs of a quota, and which instances of a failed run should be bought on demand."""

import json

import pytest

from shadow_gpu_runners.fallback import failures, propose, read_event_log
from shadow_gpu_runners.preview import Change, Plan, Resource
from shadow_gpu_runners.quota import Limit, added, check, need

INSTANCE = "openstack:compute/instance:Instance"
BASE = "urn:pulumi:dev::acme::shadow-gpu-runners:index:InstanceGroup$"


def vm(name: str, flavor: str = "boost-preemptible-c8m32-gpu-a4500-1") -> Resource:
    device = {"sourceType": "image", "destinationType": "volume", "volumeSize": 100.0}
    inputs = {"flavorName": flavor, "blockDevices": [device], "schedulerHints": [{"group": "g"}]}
    return Resource(f"{BASE}{INSTANCE}::{name}", INSTANCE, inputs, {})


def other(kind: str, name: str = "x") -> Resource:
    return Resource(f"{BASE}{kind}::{name}", kind, {}, {})


def test_servers_take_cores_ram_volumes_and_ports() -> None:
    found = need([vm("ci-01"), vm("ci-02"), other("openstack:networking/port:Port")])
    assert {name: amount for name, amount in found.amounts.items() if amount} == {
        "instances": 2,
        "cores": 16,
        "ram_mib": 65536,
        "server_group_members": 2,
        "volumes": 2,
        "gigabytes": 200,
        "ports": 1,
    }


def test_unknown_flavors_are_told_unless_their_size_is_given() -> None:
    assert need([vm("ci-01", "gpu-large")]).unknown_flavors == ("gpu-large",)
    known = need([vm("ci-01", "gpu-large")], {"gpu-large": (4, 2048)})
    assert (known.unknown_flavors, known.amounts["cores"]) == ((), 4)


def test_only_what_is_added_counts_and_a_replacement_adds_nothing() -> None:
    plan = Plan(
        (
            Change("a", "replace", vm("ci-01"), vm("ci-01", "boost-c8m32-gpu-a4500-1")),
            Change("b", "create", None, vm("ci-02")),
            Change("c", "delete", other("openstack:networking/floatingIp:FloatingIp"), None),
        ),
        0,
    )
    found = added(plan)
    assert (found.amounts["instances"], found.amounts["floating_ips"]) == (1, -1)
    assert found.amounts["server_group_members"] == 2


def test_findings_name_limit_use_and_remedy() -> None:
    found = need([vm("ci-01"), vm("ci-02")])
    limits = {
        "instances": Limit(10, 9),
        "cores": Limit(-1, 500),
        "gigabytes": Limit(1000, 800),
        "server_group_members": Limit(10, 0),
    }
    (finding,) = check(found, limits)
    assert str(finding) == (
        "quota instances: the plan adds 2, 1 of 10 are free (9 used); ask for 11, or make the plan smaller"
    )


def event(name: str, message: str, severity: str = "error") -> str:
    return json.dumps(
        {"diagnosticEvent": {"urn": f"{BASE}{INSTANCE}::{name}", "severity": severity, "message": message}}
    )


def test_instances_without_room_are_proposed_by_group() -> None:
    log = "\n".join(
        [
            json.dumps({"preludeEvent": {}}),
            event("ci-02", "Error waiting: No valid host was found. There are not enough hosts available."),
            event("ci-01", "fault: Exhausted all hosts available"),
            event("big-01", "update failed"),
            event("big-01", "Quota exceeded for instances"),
            event("ci-03", "No valid host", severity="warning"),
            '{"diagnosticEvent": {"cut',
        ]
    )
    proposal = propose(failures(read_event_log(log)), {"ci": "gpu-runner"})
    assert proposal.fallback == {"ci": ("gpu-runner-01", "gpu-runner-02")}
    assert [(known.name, known.reason) for known in proposal.others] == [("big-01", "quota")]


def test_diagnostics_of_a_json_digest_are_read_as_well() -> None:
    digest = [{"urn": f"{BASE}{INSTANCE}::ci-01", "severity": "error", "message": "No valid host"}]
    assert propose(failures(digest)).fallback == {"ci": ("ci-01",)}
    assert (
        failures([{"urn": "urn:pulumi:x::y::pulumi:pulumi:Stack::z", "severity": "error", "message": "m"}])
        == []
    )


SERVER = "788034bd-b14f-418a-813d-2e6d2cc1dce0"
# As the engine and the provider wrote it when Nova found no host.
ASYNCHRONOUS = (
    f"  sdk-v2/provider2.go:571: sdk.helper_schema: Error waiting for instance ({SERVER}) to become ready: "
    "unexpected state 'ERROR', wanted target 'ACTIVE'. last error: %!s(<nil>): provider=openstack@5.5.3\n"
)


def test_a_server_that_ends_in_error_needs_novas_word_for_the_reason() -> None:
    events = read_event_log(
        "\n".join([event("ci-01", ASYNCHRONOUS), event("ci-01", "1 error occurred:\n\t* creating")])
    )
    (unknown,) = failures(events)
    assert (unknown.reason, unknown.server_id) == ("in error", SERVER)
    assert propose([unknown]).fallback == {}
    (known,) = failures(
        events, {SERVER: "Exceeded maximum number of retries. Exhausted all hosts available for x."}
    )
    assert known.reason == "no capacity"
    assert "Exhausted all hosts" in known.message
    assert propose([known]).fallback == {"ci": ("ci-01",)}


@pytest.mark.parametrize("line", ["null", "1", "[]", '"text"', '{"diagnosticEvent": 4}', "[" * 100_000])
def test_lines_that_are_no_events_are_left_out(line: str) -> None:
    assert failures(read_event_log(line)) == []
