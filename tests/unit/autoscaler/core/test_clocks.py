"""A clock that is set, a process that was away: no busy VM pays for it, and nothing stands still."""

from dataclasses import replace

import pytest
from unit.autoscaler.core.samples import P1
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.events import Source
from shadow_autoscaler.core.jobs import JobStatus
from shadow_autoscaler.core.machines import Cause, Phase, ServerStatus
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import PoolState, Suspect

DAY = 86_400.0
STEPS = (-40 * DAY, -DAY, -3600.0, 3600.0, DAY, 40 * DAY)


def step(world: World, by: float) -> None:
    """Set the clock while the process runs."""
    world.now += by
    world.handle(ev.ClockStepped(by))


def away(world: World, by: float) -> None:
    """The process is gone and comes back when its clock says so much later, or earlier."""
    world.handle(ev.Tick())
    world.now += by
    world.restart()


@pytest.mark.parametrize("by", STEPS)
@pytest.mark.parametrize("happen", [step, away])
def test_a_busy_vm_outlives_a_jump_and_still_meets_its_deadline(happen: object, by: float) -> None:
    world = World()
    vm = world.serve(world.queued())
    world.wait(P1.job_deadline_s / 2)
    happen(world, by)  # type: ignore[operator]
    world.wait(1.0)
    world.wait(P1.job_deadline_s / 2 - 70.0)
    assert world.state.vms[vm.name].phase is Phase.BUSY
    assert not world.of(to.Deregister)
    world.wait(7300.0)
    assert world.state.vms[vm.name].cause is Cause.JOB_DEADLINE


@pytest.mark.parametrize("ahead", [-3600.0, -1200.0, 0.0, 1200.0, 3600.0])
@pytest.mark.parametrize(("ran_s", "reruns"), [(600.0, 0), (2000.0, 1)])
def test_the_forges_clock_may_be_another_than_ours(ahead: float, ran_s: float, reruns: int) -> None:
    world = World()
    facts = world.job()
    world.jobs[facts.key] = replace(facts, queued_at=facts.queued_at + ahead)
    world.tell(facts.key)
    world.run()
    vm = world.vm_for(facts.key)
    world.boot(vm.name)
    world.start(facts.key, world.machine(vm.name))
    started = world.now + ahead
    world.jobs[facts.key] = replace(world.jobs[facts.key], started_at=started)
    world.tell(facts.key)
    world.vanish(vm.name)
    world.now += 4000.0
    world.jobs[facts.key] = replace(
        world.jobs[facts.key], status=JobStatus.DONE, conclusion="failure", finished_at=started + ran_s
    )
    world.handle(ev.ServerGone(vm.name, vm_id(world, vm.name)))
    world.handle(ev.RunCompleted(facts.key, facts.run_id, 1))
    world.run()
    assert sum(world.reruns.values()) == reruns


def vm_id(world: World, name: str) -> str:
    """Return the ID of a VM's server."""
    return world.state.vms[name].server_id


def test_a_job_that_failed_by_itself_while_nobody_looked_is_not_run_again() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.wait(60.0)
    world.now += 2 * DAY  # the clock is set and the process away for two hours
    world.handle(ev.ClockStepped(2 * DAY))
    facts = world.jobs[key]
    ended = (facts.started_at or 0.0) + 600.0
    world.jobs[key] = replace(facts, status=JobStatus.DONE, conclusion="failure", finished_at=ended)
    world.vanish(vm.name)
    away(world, 7200.0)
    world.handle(ev.ServerGone(vm.name, vm.server_id))
    world.handle(ev.RunCompleted(key, facts.run_id, 1))
    world.run()
    assert not world.reruns


@pytest.mark.parametrize("by", STEPS)
def test_a_vm_that_is_kept_as_busy_is_not_forced_away_by_a_jump(by: float) -> None:
    world = World()
    vm = world.serve(world.queued())
    known = replace(world.state.vms[vm.name], phase=Phase.CLOSING, busy_at=None, cause=Cause.LIFETIME)
    world.state.vms[vm.name] = known
    away(world, by)
    world.look()
    world.run()
    assert not world.killed


@pytest.mark.parametrize("by", STEPS)
def test_a_boot_takes_as_long_as_it_may_whatever_the_clock_does(by: float) -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    world.wait(P1.boot_timeout_s - 100.0)
    step(world, by)
    world.wait(90.0)
    assert world.state.vms[vm.name].phase is Phase.BUILDING
    world.wait(20.0)
    assert world.state.vms[vm.name].cause is Cause.BOOT_TIMEOUT


@pytest.mark.parametrize("happen", [step, away])
def test_a_clock_set_back_does_not_stop_a_deletion_from_being_asked_for_again(happen: object) -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.finish(key)
    world.tell(key)
    world.carry()
    assert world.state.vms[vm.name].phase is Phase.DELETING
    world.pending.clear()  # the call is lost
    happen(world, -3 * DAY)  # type: ignore[operator]
    world.wait(400.0)
    world.run()
    assert not world.machines


@pytest.mark.parametrize("happen", [step, away])
def test_a_clock_set_back_does_not_hold_a_pool_for_days(happen: object) -> None:
    world = World(deployment=Deployment("acme-ci", (P1,)))
    until = world.now + 300.0
    world.state.pools["p1"] = PoolState(
        "p1",
        cooldowns={rung.flavor: until for rung in P1.ladder},
        paused_until=until,
        held_until=until,
        drained=False,
    )
    key = world.queued()
    happen(world, -3 * DAY)  # type: ignore[operator]
    world.wait(301.0)
    assert world.vm_for(key).flavor == P1.ladder[0].flavor


def test_a_reclaimed_job_is_run_again_soon_after_the_clock_was_set_back() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.wait(2000.0)
    world.vanish(vm.name)
    world.handle(ev.ServerGone(vm.name, vm.server_id))
    world.finish(key, "failure")
    world.tell(key)
    step(world, -3 * DAY)
    world.wait(400.0)
    world.run()
    assert sum(world.reruns.values()) == 1


@pytest.mark.parametrize("by", [-3 * DAY, 3 * DAY])
@pytest.mark.parametrize(("ran_s", "reruns"), [(600.0, 0), (2000.0, 1)])
def test_whether_a_job_was_due_to_be_lost_is_judged_by_how_long_it_ran(
    by: float, ran_s: float, reruns: int
) -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.wait(2000.0)
    world.vanish(vm.name)
    step(world, by)
    facts = world.jobs[key]
    ended = (facts.started_at or 0.0) + ran_s
    world.jobs[key] = replace(facts, status=JobStatus.DONE, conclusion="failure", finished_at=ended)
    world.handle(ev.ServerGone(vm.name, vm.server_id))
    world.handle(ev.JobSeen(world.jobs[key], Source.POLL))
    world.handle(ev.RunCompleted(key, facts.run_id, 1))
    world.run()
    assert sum(world.reruns.values()) == reruns


def test_the_room_is_read_again_after_the_clock_was_set_back() -> None:
    world = World()
    world.handle(ev.QuotaRead(Quota(world.now, instances=0)))
    step(world, -DAY)
    world.wait(1.0)
    world.handle(ev.QuotaRead(Quota(world.now, instances=5)))
    assert world.state.quota == Quota(world.now, instances=5)


def test_a_look_of_the_time_before_the_restart_is_no_first_look() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    # The store was lost: nobody knows the VM, on which a job runs.
    world.state.vms.clear()
    world.state.jobs.clear()
    world.state = type(world.state)(counters=replace(world.state.counters, generation="h"))
    world.list_servers()
    world.list_runners()
    assert f"busy:{vm.name}" in world.state.suspects
    away(world, DAY)
    world.list_servers()
    world.wait(200.0)
    world.list_servers()
    world.run()
    assert not world.killed


def test_an_old_webhook_is_still_known_after_the_clock_was_set_ahead() -> None:
    world = World()
    key = world.queued()
    queued = world.jobs[key]
    world.finish(key, "cancelled")
    world.tell(key)
    world.run()
    step(world, 40 * DAY)
    world.wait(1.0)
    world.handle(ev.JobSeen(queued))
    world.run()
    assert world.state.jobs[key].status is JobStatus.DONE
    assert not world.machines


def test_suspects_and_alarms_move_with_the_clock() -> None:
    world = World()
    world.state.suspects["leftover:port:x"] = Suspect("leftover:port:x", world.now - 10.0)
    world.state.alarms["x"] = world.now - 20.0
    step(world, -DAY)
    assert world.state.suspects["leftover:port:x"].since == world.now - 10.0
    assert world.state.alarms["x"] == world.now - 20.0


def test_a_vm_being_built_is_not_late_because_nobody_looked() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    away(world, DAY / 2)
    world.set_server(world.machine(vm.name), ServerStatus.ACTIVE)
    world.list_servers()
    world.wait(10.0)
    assert world.state.vms[vm.name].phase is Phase.BOOTING


def test_that_somebody_decides_is_written_down_once_a_minute() -> None:
    world = World()
    world.wait(0.0)
    written = list[bool]()
    for _ in range(13):
        world.sleep(5.0)
        written.append(bool(world.handle(ev.Tick()).counters))
    assert written == [*[False] * 11, True, False]
