"""What nobody owns any more: two looks apart, never on the word of one list."""

from dataclasses import replace

import pytest
from unit.autoscaler.core.samples import DEPLOYMENT
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.leftovers import Leftover, LeftoverKind
from shadow_autoscaler.core.machines import Phase, Server, ServerStatus

GRACE = DEPLOYMENT.sweep_grace_s


def orphan(world: World) -> Server:
    server = Server("s-lost", "gpu-p1-old1", ServerStatus.ACTIVE, "ACTIVE", 0.0, {"vm": "gpu-p1-old1"})
    world.handle(ev.ServersListed((server,), complete=True, asked_at=world.now))
    return server


def test_an_unknown_server_with_our_mark_goes_at_the_second_look() -> None:
    world = World()
    server = orphan(world)
    world.now += GRACE - 1
    orphan(world)
    assert not world.pending
    world.now += 1
    orphan(world)
    assert world.pending == [to.DeleteServer("gpu-p1-old1", server.server_id)]


def test_an_unknown_server_that_hangs_in_deletion_is_deleted_again() -> None:
    world = World()
    marks = {"vm": "gpu-p1-old1"}
    server = Server("s-hangs", "gpu-p1-old1", ServerStatus.DELETING, "ACTIVE", 0.0, marks)
    for _ in range(2):
        world.handle(ev.ServersListed((server,), complete=True, asked_at=world.now))
        world.now += GRACE
    assert world.pending == [to.DeleteServer("gpu-p1-old1", "s-hangs")]


def test_an_unknown_server_whose_runner_is_busy_stays() -> None:
    world = World(state=replace(World().state))
    orphan(world)
    world.now += GRACE
    runner = ev.Runner(5, "gpu-p1-g00099-1", online=True, busy=True)
    world.handle(ev.RunnersListed("github", (runner,), complete=True))
    server = Server("s9", "gpu-p1-g00099", ServerStatus.ACTIVE, "ACTIVE", 0.0, {"vm": "gpu-p1-g00099"})
    for _ in range(3):
        world.handle(ev.ServersListed((server,), complete=True, asked_at=world.now))
        world.now += GRACE
    assert not [one for one in world.pending if one == to.DeleteServer("gpu-p1-g00099", "s9")]


def test_a_second_server_of_a_vm_goes_at_once() -> None:
    world = World()
    vm = world.vm_for(world.queued())
    world.run()
    double = replace(world.machine(vm.name).server, server_id="s-double")
    world.handle(ev.ServerCreated(vm.name, double))
    assert world.pending == [to.DeleteServer(vm.name, "s-double")]


@pytest.mark.parametrize("complete", [False, True])
def test_what_a_list_lacks_is_asked_for_by_its_id_and_not_taken_for_gone(*, complete: bool) -> None:
    world = World()
    vm = world.serve(world.queued())
    world.now += 600
    world.handle(ev.ServersListed((), complete=complete, asked_at=world.now))
    assert world.pending == ([to.CheckServer(vm.name, vm.server_id)] if complete else [])
    world.run()
    assert world.state.vms[vm.name].phase is Phase.BUSY


def test_a_server_that_is_too_young_for_a_list_is_not_asked_for() -> None:
    world = World()
    world.queued()
    world.run()
    world.handle(ev.ServersListed((), complete=True, asked_at=world.now + 5))
    assert not world.pending


def test_jobs_that_a_list_lacks_are_asked_about() -> None:
    world = World()
    key = world.queued()
    world.run()
    world.now += 120
    world.handle(ev.JobsListed((), complete=False, forge="github"))
    world.handle(ev.JobsListed((), complete=True, forge="gitlab"))
    assert not world.pending
    world.handle(ev.JobsListed((), complete=True, forge="github"))
    assert world.pending == [to.CheckJob(key)]
    world.handle(ev.JobsListed((), complete=True, forge="github"))
    assert len(world.pending) == 1


def test_a_registration_without_a_vm_goes_at_the_second_look_unless_it_is_busy() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key).name
    world.finish(key)
    world.tell(key)
    world.run()
    ghost = ev.Runner(9, f"{vm}-1", online=False, busy=False)
    for busy in (True, False, False):
        world.handle(ev.RunnersListed("github", (replace(ghost, busy=busy),), complete=True))
        world.now += GRACE
    assert world.pending == [to.RemoveRunner(_github(), 9, f"{vm}-1")]


def _github() -> object:
    from shadow_autoscaler.core.jobs import ForgeKind  # noqa: PLC0415

    return ForgeKind.GITHUB


@pytest.mark.parametrize("name", ["gpu-p1-x00001-1", "gpu-other", "gpux-p1-g00001-1", "gpu-p1-g0000x-1"])
def test_a_registration_of_another_deployment_is_never_touched(name: str) -> None:
    world = World()
    for _ in range(3):
        runner = ev.Runner(9, name, online=False, busy=False)
        world.handle(ev.RunnersListed("github", (runner,), complete=True))
        world.now += GRACE
    assert not world.pending
    assert not world.state.suspects


def test_leftovers_go_in_order_at_the_second_look() -> None:
    world = World()
    kinds = (LeftoverKind.VOLUME, LeftoverKind.FLOATING_IP, LeftoverKind.PORT)
    loose = tuple(Leftover(kind, f"id-{kind}", "gpu-p1-g00001") for kind in kinds)
    for _ in range(2):
        world.handle(ev.LeftoversListed(loose, complete=True))
        world.now += GRACE
    removed = [one.leftover.kind for one in world.pending if isinstance(one, to.RemoveLeftover)]
    assert removed == [LeftoverKind.FLOATING_IP, LeftoverKind.PORT, LeftoverKind.VOLUME]


def test_leftovers_of_a_live_vm_stay() -> None:
    world = World()
    vm = world.serve(world.queued()).name
    port = Leftover(LeftoverKind.PORT, "p", vm)
    for _ in range(3):
        world.handle(ev.LeftoversListed((port,), complete=True))
        world.now += GRACE
    assert not world.pending


def test_a_leftover_that_is_used_again_in_between_is_no_suspect_any_more() -> None:
    world = World()
    port = Leftover(LeftoverKind.PORT, "p", "gpu-p1-g00001")
    world.handle(ev.LeftoversListed((port,), complete=True))
    world.handle(ev.LeftoversListed((), complete=True))
    world.now += GRACE
    world.handle(ev.LeftoversListed((port,), complete=True))
    assert not world.pending


def test_a_server_that_cannot_be_deleted_alarms_and_is_tried_on() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.finish(key)
    world.tell(key)
    world.carry(0)
    for _ in range(6):
        world.pending = [one for one in world.pending if isinstance(one, to.DeleteServer)][:1]
        world.carry(0, Failure(FailureKind.TRANSIENT, "cell is down"))
        world.wait(301)
    assert world.alarms[0].subject == f"delete:{vm.name}"
    world.run()
    assert not world.machines
    assert not world.state.alarms


def given_up_without_an_answer(world: World) -> str:
    """Return a VM whose create call was sent, never answered, and is not wanted any more."""
    key = world.queued()
    vm = world.vm_for(key).name
    world.handle(ev.CreateSent(vm))
    world.finish(key, "cancelled")
    world.tell(key)
    world.pending.clear()
    return vm


def test_a_create_call_without_an_answer_holds_its_place_until_a_later_list_lacks_it() -> None:
    world = World()
    vm = given_up_without_an_answer(world)
    world.list_servers()
    assert world.state.vms[vm].phase is Phase.DELETING
    world.now += 61
    world.list_servers(complete=False)
    assert world.state.vms[vm].phase is Phase.DELETING
    world.list_servers()
    assert world.state.vms[vm].phase is Phase.GONE


def test_an_empty_list_that_lacks_known_servers_too_says_nothing() -> None:
    world = World()
    world.serve(world.queued(name="other"))
    vm = given_up_without_an_answer(world)
    world.now += 61
    world.handle(ev.ServersListed((), complete=True, asked_at=world.now))
    assert world.state.vms[vm].phase is Phase.DELETING


def test_a_server_that_shows_up_after_all_is_deleted() -> None:
    world = World()
    vm = given_up_without_an_answer(world)
    late = Server("s-late", vm, ServerStatus.BUILDING, "BUILD", world.now, {"vm": vm})
    world.handle(ev.ServersListed((late,), complete=True, asked_at=world.now))
    assert world.pending == [to.DeleteServer(vm, "s-late")]
