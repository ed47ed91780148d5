"""The end of a GitLab machine, whose manager can be removed while a job begins on it."""

import pytest
from unit.autoscaler.core.samples import GITLAB, ON_DEMAND, P1
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.closing import LAST_WORD_S
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus
from shadow_autoscaler.core.machines import Cause, Phase, Vm
from shadow_autoscaler.core.pools import Deployment, IdleWindow, Pool


def ready(world: World) -> tuple[JobKey, Vm]:
    """Bring a machine up whose job has gone meanwhile: it may take any other at any moment."""
    key = world.queued(("shadow-gpu",), forge=ForgeKind.GITLAB)
    world.run()
    world.handle(ev.JobSeen(world.jobs[key], ev.Source.POLL))
    world.run()
    vm = world.vm_for(key)
    world.boot(vm.name)
    world.finish(key, "canceled")
    world.tell(key)
    assert world.state.vms[vm.name].phase is Phase.READY
    return key, vm


def drained(world: World) -> Vm:
    """Return such a machine that an operator does not want any more."""
    _, vm = ready(world)
    world.handle(ev.Drained(vm=vm.name))
    assert world.state.vms[vm.name].phase is Phase.CLOSING
    return vm


def test_it_is_left_alone_until_it_says_that_it_has_ended() -> None:
    world = World()
    vm = drained(world)
    world.wait(60.0)
    assert not world.of(to.Deregister)
    assert not world.of(to.DeleteServer)
    world.handle(ev.VmReported(vm.name, "ended", "ok"))
    world.run()
    assert not world.machines
    assert not world.runners


def test_a_job_that_it_took_at_the_last_moment_runs_to_its_end() -> None:
    world = World()
    vm = drained(world)
    key = world.queued(("shadow-gpu",), forge=ForgeKind.GITLAB)
    world.start(key, world.machine(vm.name))
    world.handle(ev.JobSeen(world.jobs[key], ev.Source.POLL))
    world.wait(3000.0)
    world.run()
    assert world.machines[vm_server(world, vm)].job == key
    world.finish(key)
    world.tell(key)
    world.run()
    assert world.jobs[key].status is JobStatus.DONE
    assert not world.killed
    assert vm.name not in {machine.server.name for machine in world.machines.values()}


def vm_server(world: World, vm: Vm) -> str:
    """Return the ID of a VM's server."""
    return world.state.vms[vm.name].server_id


def test_without_a_last_word_it_goes_when_it_must_have_ended() -> None:
    world = World()
    vm = drained(world)
    longest = GITLAB.idle_timeout_s + LAST_WORD_S
    world.wait(longest - 1.0)
    assert not world.of(to.Deregister)
    world.wait(2.0)
    assert world.of(to.Deregister)
    world.run()
    assert world.state.vms[vm.name].phase is Phase.GONE


def test_a_warm_machine_beyond_the_wanted_number_ends_by_itself() -> None:
    warm = Pool("gl", ForgeKind.GITLAB, ("shadow-gpu",), (ON_DEMAND,), 2, (IdleWindow(1),))
    world = World(deployment=Deployment("acme-ci", (warm,)))
    world.wait(0.0)
    world.run()
    (vm,) = world.state.vms.values()
    world.boot(vm.name)
    world.deployment = Deployment("acme-ci", (GITLAB,))
    world.wait(GITLAB.idle_timeout_s + 10.0)
    assert world.state.vms[vm.name].phase is Phase.READY
    world.handle(ev.VmReported(vm.name, "ended", "ok"))
    world.run()
    assert not world.machines


def test_one_that_the_cloud_takes_goes_at_once() -> None:
    world = World()
    _, vm = ready(world)
    world.handle(ev.ReclaimNoticed(vm.name, None))
    assert world.of(to.Deregister)
    assert world.state.vms[vm.name].cause is Cause.RECLAIMED


def test_github_refuses_to_remove_a_busy_runner_so_nothing_is_waited_for() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    world.boot(vm.name)
    world.handle(ev.Drained(vm=vm.name))
    assert world.of(to.Deregister)


@pytest.mark.parametrize("pool", [GITLAB, P1])
def test_a_machine_waits_longer_for_its_job_than_we_do_who_can_say_why_none_came(pool: Pool) -> None:
    assert pool.patience_s(warm=False) > pool.pickup_timeout_s
    assert pool.patience_s(warm=True) == pool.idle_timeout_s
