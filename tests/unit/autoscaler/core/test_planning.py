"""Who gets a VM: spot or not, bindings that are swapped, warm VMs, drains."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from unit.autoscaler.core.samples import DEPLOYMENT, GITLAB, ON_DEMAND, P1, SPOT
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.jobs import ForgeKind, JobStatus
from shadow_autoscaler.core.machines import Cause, Market, Phase, ServerStatus
from shadow_autoscaler.core.pools import Deployment, IdleWindow, Policy, Pool
from shadow_autoscaler.core.windows import wanted


def alone(**changes: object) -> World:
    return World(deployment=Deployment("d", (replace(P1, **changes),)))  # type: ignore[arg-type]


# --- spot or on-demand --------------------------------------------------------------------------------------


def test_jobs_known_to_be_longer_than_spot_up_to_start_on_demand() -> None:
    seconds = {"acme/app/long": 1900.0, "acme/app/short": 1700.0}
    world = World(deployment=Deployment("d", (replace(P1, spot_up_to_s=1800.0),), job_seconds=seconds))
    markets = [world.vm_for(world.queued(name=name)).market for name in ("long", "short", "unknown")]
    assert markets == [Market.ON_DEMAND, Market.SPOT, Market.SPOT]


def test_branches_of_the_policy_never_start_on_spot() -> None:
    world = alone(policy=Policy(on_demand_branches=("release/*",)))
    assert world.vm_for(world.queued(ref="release/2")).market is Market.ON_DEMAND
    assert world.vm_for(world.queued(ref="main")).market is Market.SPOT


def test_on_demand_only_waits_for_on_demand_and_never_takes_spot() -> None:
    world = alone(policy=Policy(on_demand_branches=("main",)), ladder=(SPOT, ON_DEMAND))
    key = world.queued()
    world.carry(0, _capacity())
    assert not world.pending
    assert not world.state.jobs[key].vm


def _capacity() -> object:
    from shadow_autoscaler.core.faults import Failure, FailureKind  # noqa: PLC0415

    return Failure(FailureKind.CAPACITY, "No valid host was found.")


# --- bindings -----------------------------------------------------------------------------------------------


def test_the_forge_swaps_jobs_and_the_core_follows() -> None:
    world = World()
    first, second = world.queued(name="a"), world.queued(name="b")
    world.run()
    vm_first, vm_second = world.vm_for(first).name, world.vm_for(second).name
    world.boot(vm_second)
    world.start(first, world.machine(vm_second))
    world.tell(first)
    assert world.state.jobs[first].vm == vm_second
    assert world.state.jobs[second].vm == vm_first
    assert world.state.vms[vm_first].job == second
    assert len(world.of(to.CreateServer)) == 2


def test_a_job_that_another_runner_takes_gives_its_vm_to_the_next() -> None:
    world = alone(max=1)
    first, second = world.queued(name="a"), world.queued(name="b")
    world.run()
    vm = world.vm_for(first).name
    taken = replace(world.jobs[first], status=JobStatus.RUNNING, runner_name="hosted-7")
    world.handle(ev.JobSeen(taken))
    assert world.state.jobs[second].vm == vm
    assert not world.state.jobs[first].vm


def test_a_late_queued_does_not_take_a_running_job_back() -> None:
    world = World()
    key = world.queued()
    queued = world.jobs[key]
    vm = world.serve(key)
    decision = world.handle(ev.JobSeen(queued))
    assert not decision.jobs
    assert world.state.vms[vm.name].phase is Phase.BUSY


def test_a_cancelled_job_frees_its_vm_at_once() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key).name
    world.finish(key, "cancelled")
    world.tell(key)
    world.run()
    assert world.state.vms[vm].cause is Cause.JOB_GONE
    assert not world.machines


@pytest.mark.parametrize("forge", [ForgeKind.GITHUB, ForgeKind.GITLAB])
def test_a_gitlab_machine_that_may_take_a_job_at_any_moment_is_left_to_its_own_end(forge: ForgeKind) -> None:
    world = World()
    pool = P1 if forge is ForgeKind.GITHUB else GITLAB
    key = world.queued(pool.labels, forge=forge)
    world.run()
    vm = world.vm_for(key).name
    world.set_server(world.machine(vm), ServerStatus.ACTIVE)
    world.list_servers()
    world.handle(ev.VmReported(vm, "healthy", "ok"))
    world.handle(ev.ConfigAsked(vm))
    world.run()
    assert world.state.vms[vm].phase is Phase.READY
    world.finish(key, "cancelled")
    world.tell(key)
    world.run()
    left = world.state.vms[vm].phase is Phase.READY
    assert left is (forge is ForgeKind.GITLAB)
    world.handle(ev.VmReported(vm, "ended", "ok"))
    world.run()
    assert not world.machines


def test_a_vm_that_was_not_asked_for_yet_is_never_created() -> None:
    world = World()
    key = world.queued()
    world.finish(key, "cancelled")
    world.tell(key)
    world.run()
    assert not world.machines
    assert [vm.phase for vm in world.state.vms.values()] == [Phase.GONE]


# --- warm VMs -----------------------------------------------------------------------------------------------


def test_warm_vms_are_kept_and_used_and_replaced() -> None:
    world = alone(idle=(IdleWindow(1),))
    world.wait(0)
    world.run()
    [warm] = world.state.vms.values()
    world.boot(warm.name)
    key = world.queued()
    assert world.vm_for(key).name == warm.name
    assert len(world.of(to.CreateServer)) == 2


def test_warm_vms_beyond_the_window_go_after_the_idle_timeout() -> None:
    evening = datetime(2026, 11, 30, 17, 59, tzinfo=UTC).timestamp()
    world = alone(idle=(IdleWindow(2, start="08:00", end="18:00"),))
    world.now = evening
    world.wait(0)
    world.run()
    for vm in tuple(world.state.vms):
        world.boot(vm)
    assert len(world.machines) == 2
    world.wait(P1.idle_timeout_s - 60)
    assert len(world.machines) == 2
    world.wait(120)
    world.run()
    assert not world.machines
    assert {vm.cause for vm in world.state.vms.values()} == {Cause.IDLE}


def test_a_forge_that_says_busy_keeps_an_idle_vm() -> None:
    world = alone(idle=(IdleWindow(1),))
    world.wait(0)
    world.run()
    [warm] = world.state.vms.values()
    world.boot(warm.name)
    job = world.job()
    world.start(job.key, world.machine(warm.name))
    world.deployment = Deployment("d", (P1,))
    world.wait(P1.idle_timeout_s + 1)
    world.run()
    assert world.machines
    assert world.state.vms[warm.name].phase is Phase.CLOSING
    world.tell(job.key)
    world.finish(job.key)
    world.tell(job.key)
    world.run()
    assert not world.machines
    assert not world.killed


def test_a_warm_vm_that_nobody_wants_any_more_gets_no_configuration() -> None:
    world = alone(idle=(IdleWindow(1),))
    world.wait(0)
    world.run()
    [warm] = world.state.vms
    world.set_server(world.machine(warm), ServerStatus.ACTIVE)
    world.list_servers()
    world.deployment = Deployment("d", (P1,))
    world.handle(ev.ConfigAsked(warm))
    world.run()
    assert not world.of(to.Register)
    assert not world.machines


@pytest.mark.parametrize(
    ("at", "count"),
    [
        ("2026-11-30 07:59", 0),
        ("2026-11-30 08:00", 3),
        ("2026-11-30 17:59", 3),
        ("2026-11-30 18:00", 0),
        ("2026-12-05 12:00", 0),
        ("2026-12-04 23:30", 1),
        ("2026-12-05 04:59", 1),
        ("2026-12-05 05:00", 0),
        ("2026-12-05 23:30", 0),
    ],
)
def test_windows_are_local_and_may_pass_midnight(at: str, count: int) -> None:
    day = IdleWindow(3, days=(0, 1, 2, 3, 4), start="09:00", end="19:00", timezone="Europe/Paris")
    night = IdleWindow(1, days=(4,), start="23:30", end="06:00", timezone="Europe/Paris")
    pool: Pool = replace(P1, max=5, idle=(day, night))
    assert wanted(pool, datetime.fromisoformat(f"{at}+00:00").timestamp()) == count


# --- drains and limits of time ------------------------------------------------------------------------------


def test_a_drained_pool_ends_idle_vms_and_lets_busy_ones_finish() -> None:
    world = World()
    busy, idle = world.queued(name="a"), world.queued(name="b")
    vm = world.serve(busy)
    world.handle(ev.Drained("p1"))
    world.run()
    assert [one.server.name for one in world.machines.values()] == [vm.name]
    assert not world.state.jobs[idle].vm
    world.finish(busy)
    world.tell(busy)
    world.run()
    assert not world.machines
    world.handle(ev.Drained("p1", on=False))
    assert world.vm_for(idle).live


def test_a_drained_vm_is_replaced() -> None:
    world = World()
    key = world.queued()
    world.run()
    first = world.vm_for(key).name
    world.handle(ev.Drained(vm=first))
    assert world.state.vms[first].cause is Cause.DRAINED
    assert world.vm_for(key).name != first


def test_a_job_beyond_its_deadline_loses_its_vm_although_the_forge_says_busy() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.wait(P1.job_deadline_s + 1)
    world.run()
    assert world.state.vms[vm.name].cause is Cause.JOB_DEADLINE
    assert not world.machines
    assert world.alarms[0].subject == f"deadline:{vm.name}"


def test_a_warm_vm_does_not_outlive_its_lifetime() -> None:
    world = alone(idle=(IdleWindow(1),))
    world.wait(0)
    world.run()
    [warm] = world.state.vms
    world.boot(warm)
    world.wait(P1.max_lifetime_s + 1)
    world.run()
    assert world.state.vms[warm].cause is Cause.LIFETIME


def test_a_stopped_server_is_deleted_because_it_goes_on_costing() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.finish(key)
    world.set_server(world.machine(vm.name), ServerStatus.STOPPED)
    world.list_servers()
    world.run()
    assert not world.machines


def test_an_old_tombstone_is_forgotten_and_a_younger_one_is_not() -> None:
    world = World()
    key = world.queued()
    world.serve(key)
    world.finish(key)
    world.tell(key)
    world.run()
    world.wait(DEPLOYMENT.tombstone_s - 10)
    assert key in world.state.jobs
    world.wait(20)
    assert not world.state.jobs
    assert not world.state.vms
    assert not world.state.index.runs


def test_a_vm_whose_create_call_got_lost_makes_room_for_another() -> None:
    world = World()
    key = world.queued()
    lost = world.vm_for(key)
    world.pending.clear()
    world.wait(P1.boot_timeout_s + 3500.0)
    assert world.state.jobs[key].vm == lost.name
    world.wait(200.0)
    assert world.state.vms[lost.name].phase is Phase.GONE
    assert world.state.jobs[key].vm not in {"", lost.name}
