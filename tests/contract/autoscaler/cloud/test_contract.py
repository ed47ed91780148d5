"""What every cloud does alike: the adapter on the local cloud, and the fake that other tests use."""

import pytest
from contract.autoscaler.cloud.labs import FULL, Lab, new_vm, spec

from localcloud.openstack import faults
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.machines import Server, ServerStatus


def failure_of(lab: Lab, **wanted: str) -> tuple[FailureKind, str]:
    with pytest.raises(PortError) as caught:
        lab.cloud.create(spec(**wanted))
    return caught.value.failure.kind, caught.value.failure.resource


def test_a_server_is_being_built_then_runs_then_is_gone(lab: Lab) -> None:
    wanted = spec()
    made = lab.cloud.create(wanted)
    assert (made.name, made.status, made.flavor) == (wanted.name, ServerStatus.BUILDING, wanted.flavor)
    assert made.marks == wanted.marks
    running = lab.settled(made)
    assert (running.server_id, running.status) == (made.server_id, ServerStatus.ACTIVE)
    assert running.marks == wanted.marks
    assert running.host
    assert running.failure is None
    lab.cloud.delete(made.server_id)
    lab.cloud.delete(made.server_id)
    assert lab.until(lambda: lab.cloud.server(made.server_id) is None)
    assert lab.cloud.servers() == ()
    lab.cloud.delete(made.server_id)


def test_a_list_has_every_server_and_can_be_of_one_vm(lab: Lab) -> None:
    first, second = new_vm(), new_vm()
    made = {lab.cloud.create(spec(vm)).server_id for vm in (first, second)}
    assert {server.server_id for server in lab.cloud.servers()} == made
    assert [server.marks["vm"] for server in lab.cloud.servers(second)] == [second]
    assert lab.cloud.servers(first[:-1]) == ()


def test_an_unknown_server_is_none_and_its_deletion_no_error(lab: Lab) -> None:
    nowhere = "00000000-0000-4000-8000-000000000000"
    assert lab.cloud.server(nowhere) is None
    lab.cloud.delete(nowhere)


def test_a_lack_of_hosts_shows_later_as_a_server_in_error(lab: Lab) -> None:
    failed = lab.settled(lab.cloud.create(spec(flavor=FULL)))
    assert failed.status is ServerStatus.ERROR
    assert failed.fault.startswith("No valid host was found")
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.CAPACITY


def test_an_unknown_flavor_is_a_fault_of_the_configuration(lab: Lab) -> None:
    assert failure_of(lab, flavor="no-such-flavor") == (FailureKind.CONFIG, "")
    assert lab.cloud.servers() == ()


def test_a_reached_quota_names_the_resource_and_makes_nothing(lab: Lab) -> None:
    lab.limit_instances(1)
    lab.settled(lab.cloud.create(spec()))
    assert lab.cloud.quota().instances == 0
    assert failure_of(lab) == (FailureKind.QUOTA, "instances")
    assert len(lab.cloud.servers()) == 1


def test_the_quota_shrinks_by_what_is_taken(lab: Lab) -> None:
    lab.limit_instances(3)
    assert lab.cloud.quota().instances == 3
    lab.cloud.create(spec())
    # Nova counts a server only once it has found a host for it.
    assert lab.until(lambda: lab.cloud.quota().instances == 2)


@pytest.mark.parametrize(
    ("how", "status", "raw"),
    [("stop", ServerStatus.STOPPED, "SHUTOFF"), ("error", ServerStatus.ERROR, "ERROR")],
)
def test_a_server_that_the_cloud_took_stays_listed_until_it_is_deleted(
    lab: Lab, how: faults.Outcome, status: ServerStatus, raw: str
) -> None:
    server = lab.settled(lab.cloud.create(spec()))
    lab.end(server, how)

    def shown() -> Server:
        (found,) = lab.cloud.servers()
        return found

    assert lab.until(lambda: shown().status is status)
    assert shown().raw_status == raw
    lab.cloud.delete(server.server_id)
    assert lab.until(lambda: lab.cloud.servers() == ())


def test_a_server_that_the_cloud_deleted_is_none(lab: Lab) -> None:
    server = lab.settled(lab.cloud.create(spec()))
    lab.end(server, "delete")
    assert lab.until(lambda: lab.cloud.server(server.server_id) is None)


def test_a_console_is_text_of_at_most_64_kib(lab: Lab) -> None:
    server = lab.settled(lab.cloud.create(spec()))
    assert lab.until(lambda: lab.cloud.console(server.server_id) != "")
    assert len(lab.cloud.console(server.server_id).encode()) <= 64 * 1024


def test_a_leftover_is_found_by_its_mark_and_removed_once(lab: Lab) -> None:
    vm = new_vm()
    assert lab.cloud.leftovers() == ()
    lab.abandon_port(vm)
    (left,) = lab.cloud.leftovers()
    assert left.vm == vm
    lab.cloud.remove(left)
    assert lab.cloud.leftovers() == ()
    lab.cloud.remove(left)
