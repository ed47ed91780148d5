"""What no well-behaved cloud, forge or VM sends, and what it must not bring about."""

from dataclasses import replace

import pytest
from unit.autoscaler.core.samples import P1, START
from unit.autoscaler.core.world import Machine, World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.blockers import clock
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Market, Phase, Server, ServerStatus, Vm
from shadow_autoscaler.core.why import why

KEY = JobKey(ForgeKind.GITHUB, "acme/models", 1)


def _world() -> tuple[World, Vm, Server]:
    world = World()
    facts = JobFacts(KEY, JobStatus.QUEUED, "train", P1.labels, 900, START)
    world.jobs[KEY] = facts
    world.handle(ev.JobSeen(facts, ev.Source.POLL))
    world.run()
    (vm,) = world.state.vms.values()
    return world, vm, world.machines[vm.server_id].server


def _running(world: World, vm: Vm) -> None:
    facts = replace(
        world.jobs[KEY], status=JobStatus.RUNNING, runner_name=f"{vm.name}-1", started_at=world.now
    )
    world.jobs[KEY] = facts
    world.handle(ev.JobSeen(facts, ev.Source.POLL))


def test_the_end_of_a_second_server_of_a_vm_is_not_the_end_of_the_vm() -> None:
    world, vm, server = _world()
    extra = replace(server, server_id="extra")
    world.machines["extra"] = Machine(extra)
    world.handle(ev.ServersListed((server, extra), complete=True, asked_at=world.now))
    assert [one for one in world.pending if isinstance(one, to.DeleteServer)] == [
        to.DeleteServer(vm.name, "extra")
    ]
    world.handle(ev.ServerGone(vm.name, "extra"))
    assert world.state.vms[vm.name].phase is Phase.BUILDING
    assert world.state.jobs[KEY].vm == vm.name


def test_the_own_server_of_a_vm_that_is_gone_ends_it() -> None:
    world, vm, server = _world()
    world.handle(ev.ServerGone(vm.name, server.server_id))
    assert world.state.vms[vm.name].phase is Phase.GONE


def test_a_second_server_that_does_not_go_is_asked_for_at_intervals_and_not_at_each_look() -> None:
    world, vm, server = _world()
    extra = replace(server, server_id="extra", status=ServerStatus.DELETING)
    grace = world.deployment.sweep_grace_s
    for _ in range(int(2 * grace / 5)):
        world.now += 5.0
        world.handle(ev.ServersListed((server, extra), complete=True, asked_at=world.now))
    calls = [one for one in world.of(to.DeleteServer) if one == to.DeleteServer(vm.name, "extra")]
    assert len(calls) == 2


def test_a_second_server_that_cannot_be_deleted_does_not_put_the_vms_own_deletion_off() -> None:
    world, vm, _server = _world()
    world.handle(ev.Drained(vm=vm.name))
    before = world.state.vms[vm.name]
    assert before.phase is Phase.DELETING
    late = Failure(FailureKind.TRANSIENT, "503", retry_after_s=3000.0)
    world.handle(ev.DeleteFailed(vm.name, late, "extra"))
    assert world.state.vms[vm.name] == before


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e300, -1e300, 0.0, START * 2])
def test_a_reclaim_at_a_time_that_cannot_be_is_one_without_a_time(at: float) -> None:
    world, vm, _server = _world()
    _running(world, vm)
    world.handle(ev.ReclaimNoticed(vm.name, at))
    assert world.state.vms[vm.name].reclaim_at == START + world.deployment.spot_notice_s
    assert clock(START + world.deployment.spot_notice_s) in why(world.state, KEY, world.now, world.deployment)


def test_a_reclaim_that_a_vm_on_demand_tells_of_does_not_get_its_failed_job_run_again() -> None:
    world, vm, _server = _world()
    _running(world, vm)
    world.state.vms[vm.name] = replace(world.state.vms[vm.name], market=Market.ON_DEMAND)
    world.handle(ev.ReclaimNoticed(vm.name, world.now))
    done = replace(world.jobs[KEY], status=JobStatus.DONE, conclusion="failure", finished_at=world.now)
    world.handle(ev.JobSeen(done, ev.Source.POLL))
    assert world.state.jobs[KEY].reclaim is Reclaim.NONE


@pytest.mark.parametrize("at", [float("nan"), float("-inf"), 1e300, -1e18])
def test_a_time_beyond_every_calendar_has_a_text(at: float) -> None:
    assert clock(at) == "a time that no calendar has"


def test_a_busy_vm_of_a_pool_that_is_configured_no_more_does_not_stay_for_ever() -> None:
    world, vm, _server = _world()
    _running(world, vm)
    world.deployment = replace(world.deployment, pools=())
    world.wait(3600.0)
    assert world.state.vms[vm.name].phase is Phase.BUSY
    world.wait(86_400.0)
    assert world.state.vms[vm.name].phase >= Phase.CLOSING
    world.run()
    for _ in range(3):
        world.wait(60.0)
        world.run()
    assert world.of(to.DeleteServer)


def test_a_vm_whose_registration_cannot_be_removed_goes_in_the_end_without_its_pool_too() -> None:
    world, vm, _server = _world()
    _running(world, vm)
    world.handle(ev.VmReported(vm.name, "ended", "ok"))
    world.state.vms[vm.name] = replace(
        world.state.vms[vm.name], phase=Phase.CLOSING, runner_name=f"{vm.name}-1"
    )
    world.deployment = replace(world.deployment, pools=())
    world.pending.clear()
    world.wait(86_401.0)
    assert any(isinstance(one, to.DeleteServer) for one in world.pending)


@pytest.mark.parametrize("labels", [tuple(f"label-{number}" for number in range(10_000)), ("x" * 1_000_000,)])
def test_labels_without_measure_make_no_reason_without_measure(labels: tuple[str, ...]) -> None:
    world = World()
    facts = JobFacts(KEY, JobStatus.QUEUED, "train", labels, 900, START)
    decision = world.handle(ev.JobSeen(facts, ev.Source.POLL))
    assert "lacks" in world.state.jobs[KEY].reason
    assert len(world.state.jobs[KEY].reason) < 1000
    assert sum(len(note.text) for note in decision.notes) < 1000


@pytest.mark.parametrize("status", [ServerStatus.DELETING, ServerStatus.ERROR, ServerStatus.STOPPED])
def test_a_server_of_nobodys_that_does_not_go_is_told_once_and_calmed_when_it_is_gone(
    status: ServerStatus,
) -> None:
    world = World()
    stuck = Server("s9", "gpu-x", status, status.upper(), START, {"vm": "gpu-x"})
    for _ in range(100):
        world.now += 60.0
        world.handle(ev.ServersListed((stuck,), complete=True, asked_at=world.now))
    assert [alarm.subject for alarm in world.alarms] == ["leak:gpu-x"]
    calls = [one for one in world.pending if isinstance(one, to.DeleteServer)]
    assert len(calls) <= 100 * 60 / world.deployment.sweep_grace_s
    world.handle(ev.ServersListed((), complete=True, asked_at=world.now))
    assert not world.state.alarms
