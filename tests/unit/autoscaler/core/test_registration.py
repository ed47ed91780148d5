"""From a good GPU to a configuration in the VM's hands, and what may go wrong on the way."""

import pytest
from unit.autoscaler.core.samples import P1
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import JobKey
from shadow_autoscaler.core.machines import Cause, Phase, ServerStatus
from shadow_autoscaler.core.registration import MAX_REGISTRATIONS


def asking() -> tuple[World, JobKey, str]:
    """Return a world with a VM that asks for its configuration; the answer is still to come."""
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key).name
    world.set_server(world.machine(vm), ServerStatus.ACTIVE)
    world.list_servers()
    world.handle(ev.VmReported(vm, "healthy", "ok"))
    world.handle(ev.ConfigAsked(vm))
    return world, key, vm


def test_asking_twice_while_the_forge_answers_mints_once() -> None:
    world, _, vm = asking()
    world.handle(ev.ConfigAsked(vm))
    assert world.pending == [to.Register(vm, f"{vm}-1")]


def test_asking_again_later_removes_the_former_registration_first() -> None:
    world, _, vm = asking()
    world.run()
    world.handle(ev.ConfigAsked(vm))
    assert [type(one) for one in world.pending] == [to.Deregister]
    world.run()
    assert list(world.runners) == [f"{vm}-2"]
    assert world.state.vms[vm].registrations == 2


def test_asking_again_while_a_job_runs_changes_nothing() -> None:
    world, key, vm = asking()
    world.run()
    world.take(vm)
    world.start(key, world.machine(vm))
    world.handle(ev.ConfigAsked(vm))
    world.run()
    assert list(world.runners) == [f"{vm}-1"]
    assert world.state.vms[vm].asked_at is None
    world.tell(key)
    assert world.state.vms[vm].phase is Phase.BUSY


def test_a_vm_without_an_end_of_asking_is_given_up() -> None:
    world, _, vm = asking()
    for _ in range(MAX_REGISTRATIONS + 1):
        world.run()
        world.handle(ev.ConfigAsked(vm))
    world.run()
    assert world.state.vms[vm].cause is Cause.REGISTRATION
    assert not [name for name in world.runners if name.startswith(vm)]


def test_no_configuration_for_a_vm_without_work() -> None:
    world, key, vm = asking()
    world.finish(key, "cancelled")
    world.tell(key)
    decision = world.handle(ev.ConfigAsked(vm))
    assert not [one for one in decision.intents if isinstance(one, to.Register)]
    world.run()
    assert not world.machines
    assert not world.runners


def test_a_registration_that_comes_too_late_is_removed() -> None:
    world, key, vm = asking()
    register = world.pending.pop(0)
    world.finish(key, "cancelled")
    world.tell(key)
    world.runners[f"{vm}-1"] = None
    world.handle(ev.Registered(vm, 77, f"{vm}-1"))
    world.run()
    assert isinstance(register, to.Register)
    assert not world.runners
    assert not world.machines


@pytest.mark.parametrize("kind", [FailureKind.TRANSIENT, FailureKind.THROTTLED, FailureKind.AUTH])
def test_a_forge_in_trouble_is_asked_again_under_another_name(kind: FailureKind) -> None:
    world, key, vm = asking()
    world.carry(0, Failure(kind, "busy", 60.0))
    assert not world.pending
    world.now += 61
    world.ask(vm)
    assert list(world.runners) == [f"{vm}-2"]
    assert world.state.jobs[key].failures == 0


@pytest.mark.parametrize("kind", [FailureKind.UNKNOWN_OUTCOME, FailureKind.CONFLICT])
def test_a_ghost_under_the_name_goes_before_the_next_try(kind: FailureKind) -> None:
    world, _, vm = asking()
    world.carry(0, Failure(kind, "reset"))
    world.runners[f"{vm}-1"] = None
    assert world.pending == [to.Deregister(vm, f"{vm}-1", None)]
    world.run()
    assert list(world.runners) == [f"{vm}-2"]


def test_a_forge_that_refuses_holds_the_pool_and_spends_nothing() -> None:
    world, key, vm = asking()
    world.carry(0, Failure(FailureKind.REFUSED, "403 no access to runner group 9"))
    world.run()
    assert world.state.vms[vm].cause is Cause.REGISTRATION
    assert not world.machines
    assert not world.state.jobs[key].vm
    assert "runner group 9" in world.alarms[0].text
    world.wait(P1.breaker_s + 1)
    assert world.vm_for(key).phase is Phase.PLANNED


def test_the_still_queued_check_fails_open() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key).name
    world.set_server(world.machine(vm), ServerStatus.ACTIVE)
    world.list_servers()
    world.now += 120
    world.handle(ev.ConfigAsked(vm))
    assert {type(one) for one in world.pending} == {to.Register, to.CheckJob}
    world.pending = [one for one in world.pending if isinstance(one, to.Register)]
    world.run()
    assert world.state.vms[vm].phase is Phase.READY


def test_online_without_a_job_is_replaced_and_says_so() -> None:
    world, key, vm = asking()
    world.run()
    world.wait(P1.pickup_timeout_s / 2 + 1)
    assert world.pending == [to.CheckJob(key)]
    world.run()
    world.wait(P1.pickup_timeout_s / 2)
    assert world.state.vms[vm].cause is Cause.PICKUP_TIMEOUT
    assert world.vm_for(key).name != vm


def test_a_removal_that_fails_is_no_removal() -> None:
    world, key, vm = asking()
    world.run()
    world.finish(key, "cancelled")
    world.tell(key)
    for _ in range(6):
        world.carry(0, Failure(FailureKind.TRANSIENT, "502"))
        assert world.machines
        world.wait(301)
    assert world.alarms[0].subject == f"deregister:{vm}"
    world.run()
    assert not world.machines
    assert not world.state.alarms


def test_the_end_that_the_vm_tells_comes_before_the_webhook() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.finish(key)
    world.handle(ev.VmReported(vm.name, "ended", "ok"))
    world.run()
    assert not world.machines
    assert world.state.vms[vm.name].cause is Cause.JOB_DONE


def test_a_runner_that_ends_without_a_job_counts_as_a_failed_boot() -> None:
    world, key, vm = asking()
    world.run()
    world.handle(ev.VmReported(vm, "ended", "failed", "version is deprecated and cannot receive messages"))
    assert world.state.jobs[key].failures == 1
    assert world.state.pools["p1"].failures == 1
    assert world.vm_for(key).name != vm
