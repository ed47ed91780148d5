"""Rows are set aside by `repair`: what is left finds together again."""

from dataclasses import replace

import pytest
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.intents import Intent
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Cause, Phase, Vm


def look(world: World, times: int, every: float = 60.0) -> None:
    for _ in range(times):
        world.wait(every)
        world.look()
        world.run()


def test_a_job_whose_vm_is_unknown_gets_another_one() -> None:
    world = World()
    key = world.queued()
    world.run()
    name = world.vm_for(key).name
    del world.state.vms[name]
    world.restart()
    world.run()
    assert world.vm_for(key).name != name
    look(world, 20)
    assert name not in {machine.server.name for machine in world.machines.values()}


def test_a_job_that_runs_on_an_unknown_vm_runs_on() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    del world.state.vms[vm.name]
    world.restart()
    look(world, 60)
    assert not world.killed
    assert world.state.jobs[key].vm == ""
    world.finish(key)
    look(world, 60)
    assert not world.machines


def test_a_vm_whose_job_is_unknown_and_gone_is_not_kept_for_it() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    world.boot(vm.name)
    world.finish(key, "cancelled")
    del world.state.jobs[key]
    world.restart()
    look(world, 35)
    assert not world.machines
    assert world.state.vms[vm.name].cause is Cause.IDLE


def test_a_vm_whose_job_is_unknown_and_still_waits_is_given_it_again() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    del world.state.jobs[key]
    world.restart()
    world.look()
    world.run()
    assert world.vm_for(key).name == vm.name
    assert len(world.machines) == 1


@pytest.mark.parametrize("meanwhile", [True, False])
def test_a_vm_whose_running_job_is_unknown_ends_with_it(*, meanwhile: bool) -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    del world.state.jobs[key]
    if meanwhile:
        world.finish(key)
    world.restart()
    world.run()
    if not meanwhile:
        assert world.state.jobs[key].vm == vm.name
        world.finish(key)
        world.tell(key)
        world.run()
    assert world.state.jobs[key].status is JobStatus.DONE
    assert not world.machines
    assert not world.killed


def _lost_with_its_vm(world: World, forge: ForgeKind) -> tuple[JobKey, Vm]:
    """Return a job whose spot VM was taken, up to the intent to run it again."""
    labels = ("shadow-gpu",) if forge is ForgeKind.GITLAB else ("self-hosted", "rtx2000")
    key = world.queued(labels, forge=forge)
    world.run()
    vm = world.serve(key)
    world.wait(2000.0)
    world.vanish(vm.name)
    world.handle(ev.ServerGone(vm.name, vm.server_id))
    world.finish(key, "failure")
    world.tell(key)
    world.handle(ev.RunCompleted(key, world.jobs[key].run_id, 1))
    return key, vm


def _reruns(world: World) -> list[Intent]:
    return [intent for intent in world.pending if isinstance(intent, to.Rerun)]


@pytest.mark.parametrize("forge", list(ForgeKind))
@pytest.mark.parametrize("lost", [True, False])
def test_a_job_whose_intent_to_be_run_again_is_lost_is_run_again_once(
    forge: ForgeKind, *, lost: bool
) -> None:
    world = World()
    key, _ = _lost_with_its_vm(world, forge)
    assert len(_reruns(world)) == 1
    assert world.state.jobs[key].reclaim is Reclaim.RERUN
    if lost:
        world.pending = [intent for intent in world.pending if not isinstance(intent, to.Rerun)]
    for _ in range(5):
        world.restart()
        look(world, 8)
    assert len(world.jobs) == 2


def test_nothing_is_mended_where_nothing_is_missing() -> None:
    world = World()
    vm = world.serve(world.queued())
    world.queued()
    world.run()
    before = world.handle(ev.Loaded(()))
    assert (before.jobs, before.vms, before.intents, before.notes) == ((), (), (), ())
    assert world.state.vms[vm.name].phase is Phase.BUSY


def test_a_job_that_runs_elsewhere_waits_for_no_reason_any_more() -> None:
    world = World()
    key = world.queued()
    world.run()
    world.state.jobs[key] = replace(world.state.jobs[key], reason="a VM for it has failed")
    world.jobs[key] = replace(world.jobs[key], status=JobStatus.RUNNING, runner_name="hosted-7")
    world.tell(key)
    assert (world.state.jobs[key].vm, world.state.jobs[key].reason) == ("", "")
