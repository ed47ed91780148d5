"""Clocks that jump more than once, to 1970, or unseen: durations stay what they were, and nothing is lost."""

from collections.abc import Callable
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.autoscaler.core.samples import P1
from unit.autoscaler.core.test_clocks import DAY, away, step
from unit.autoscaler.core.test_gitlab_end import ready
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import clocks
from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.jobs import Job, JobStatus
from shadow_autoscaler.core.machines import Cause, Phase, Vm
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import PoolState

Jump = Callable[[World, float], None]
JUMPS = (step, away)


def nap(world: World, by: float) -> None:
    """The machine sleeps, and its steady clock counts that; nobody says so."""
    world.sleep(abs(by))
    world.handle(ev.Tick())


def to_1970(world: World) -> float:
    """Return the step that takes the clock to half a minute after its beginning."""
    return 30.0 - world.now


def hours_busy(world: World, vm: Vm) -> float:
    """Return after how many hours more a VM's job meets its deadline; 50 when it does not."""
    for minutes in range(50 * 60):
        if world.state.vms[vm.name].phase is not Phase.BUSY:
            return minutes / 60
        world.wait(60.0)
    return 50.0


@pytest.mark.parametrize("by", [3600.0, DAY, 30 * DAY, -3600.0, -DAY, -30 * DAY])
@pytest.mark.parametrize("there", JUMPS)
@pytest.mark.parametrize("back", JUMPS)
def test_a_clock_that_was_wrong_for_a_while_changes_no_deadline(there: Jump, back: Jump, by: float) -> None:
    world = World()
    vm = world.serve(world.queued())
    world.wait(600.0)
    there(world, by)
    world.wait(60.0)
    back(world, -by)
    assert 5.7 < hours_busy(world, vm) < 5.9
    assert world.state.vms[vm.name].cause is Cause.JOB_DEADLINE


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([step, away, nap]),
            st.sampled_from([3600.0, -3600.0, 30 * DAY, -30 * DAY, 3650 * DAY, 1.9, -1.9]),
            st.floats(1.0, 900.0),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_however_often_the_clock_jumps_a_job_has_its_hours_and_no_more(
    jumps: list[tuple[Jump, float, float]],
) -> None:
    world = World()
    vm = world.serve(world.queued())
    ran = 0.0
    for jump, by, seconds in jumps:
        world.wait(seconds)
        ran += seconds
        jump(world, by)
    assert world.state.vms[vm.name].phase is Phase.BUSY
    left = P1.job_deadline_s - ran
    assert abs(hours_busy(world, vm) * 3600 - left) <= 60.0 * (len(jumps) + 2)


@pytest.mark.parametrize("there", JUMPS)
def test_a_clock_that_was_in_1970_moves_every_time_back(there: Jump) -> None:
    world = World()
    vm = world.serve(world.queued())
    world.wait(600.0)
    before, by = world.state.vms[vm.name], to_1970(world)
    there(world, by)
    world.wait(5.0)
    step(world, -by)
    assert world.state.vms[vm.name] == before
    world.wait(5.0)
    world.run()
    assert world.state.vms[vm.name].phase is Phase.BUSY


def test_every_time_of_ours_moves() -> None:
    def times(kind: type) -> set[str]:
        return {one.name for one in fields(kind) if one.name.endswith(("_at", "_until", "_before"))}

    assert times(Vm) - {"deleted_at"} == set(clocks.VM_TIMES)
    assert times(Job) == set(clocks.JOB_TIMES)
    assert times(PoolState) == set(clocks.POOL_TIMES)


def test_times_that_say_not_yet_go_on_saying_so() -> None:
    world = World()
    key = world.queued()
    world.state.pools["p1"] = PoolState("p1")
    before = world.state.jobs[key]
    step(world, DAY)
    assert world.state.jobs[key] == replace(before, seen_at=before.seen_at + DAY)
    assert world.state.pools["p1"] == PoolState("p1")


@pytest.mark.parametrize("hours", [8.0, 26.0])
def test_a_machine_that_slept_and_a_clock_that_counts_it_end_no_job_and_no_boot(hours: float) -> None:
    world = World()
    vm = world.serve(world.queued())
    key = world.queued()
    world.run()
    booting = world.vm_for(key)
    world.wait(60.0)
    nap(world, hours * 3600)
    world.wait(60.0)
    assert world.state.vms[vm.name].phase is Phase.BUSY
    assert world.state.vms[booting.name].phase is Phase.BUILDING
    assert "p1" not in world.state.pools
    world.wait(P1.boot_timeout_s)
    assert world.state.vms[booting.name].cause is Cause.BOOT_TIMEOUT


@pytest.mark.parametrize("lived_s", [5.0, 50.0, 70.0])
def test_a_process_that_dies_again_and_again_still_meets_the_deadline(lived_s: float) -> None:
    world = World()
    vm = world.serve(world.queued())
    world.wait(60.0)
    for _ in range(int(1.2 * P1.job_deadline_s / lived_s)):
        world.sleep(lived_s)
        world.restart()
    world.wait(1.0)
    assert world.state.vms[vm.name].cause is Cause.JOB_DEADLINE


@pytest.mark.parametrize("happen", [away, nap])
def test_a_vm_that_is_ready_is_not_too_old_because_the_clock_is_ahead(happen: Jump) -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    world.boot(vm.name)
    happen(world, P1.max_lifetime_s + 3600.0)
    world.wait(5.0)
    assert world.state.vms[vm.name].phase is Phase.READY


@pytest.mark.parametrize("happen", [away, nap])
def test_a_gitlab_machine_ends_by_itself_later_than_any_jump(happen: Jump) -> None:
    world = World()
    _, vm = ready(world)
    happen(world, 25 * 3600.0)
    world.handle(ev.Drained(vm=vm.name))
    assert not world.of(to.Deregister)
    assert (world.state.vms[vm.name].retry_at or 0.0) > world.now + 60.0


@pytest.mark.parametrize("back", JUMPS)
def test_late_webhooks_of_a_time_before_the_clock_was_ahead_are_still_known(back: Jump) -> None:
    world = World()
    key = world.queued()
    queued = world.jobs[key]
    vm = world.serve(key)
    world.finish(key)
    world.tell(key)
    world.run()
    away(world, 9 * DAY)
    world.wait(5.0)
    world.wait(3600.0)
    back(world, -9 * DAY)
    world.wait(5.0)
    assert vm.name in world.state.vms
    world.handle(ev.JobSeen(queued))
    world.run()
    assert not world.machines


def test_what_is_old_is_forgotten_once_the_clock_has_not_jumped_for_long() -> None:
    world = World()
    key = world.queued()
    world.finish(key, "cancelled")
    world.tell(key)
    world.run()
    away(world, 9 * DAY)
    world.wait(clocks.SURE_S - 120.0)
    assert key in world.state.jobs
    world.wait(180.0)
    assert key not in world.state.jobs


@pytest.mark.parametrize("happen", [*JUMPS, nap])
def test_the_store_is_not_pruned_soon_after_a_jump(happen: Jump) -> None:
    world = World()
    world.wait(0.0)
    world.wait(clocks.SURE_S)

    def prunes() -> bool:
        world.sleep(70.0)
        return world.handle(ev.Tick()).prunes

    assert prunes()
    happen(world, 400 * DAY)
    assert not prunes()
    world.wait(clocks.SURE_S)
    assert prunes()


@pytest.mark.parametrize("off", [0.0, 150.0, 600.0, 7200.0, -150.0, -600.0, -7200.0])
@pytest.mark.parametrize("by", [0.0, 600.0, 7200.0, -600.0, -7200.0])
@pytest.mark.parametrize(("after_s", "reruns"), [(60.0, 0), (890.0, 1)])
def test_a_notice_without_a_time_is_judged_by_how_long_ago_it_was(
    off: float, by: float, after_s: float, reruns: int
) -> None:
    """Our clock is `off` the world's and is then set by `by`."""
    world = World()
    key = world.queued()
    world.jobs[key] = replace(world.jobs[key], queued_at=world.now - off)
    vm = world.serve(key)
    started = world.now - off
    world.jobs[key] = replace(world.jobs[key], started_at=started)
    world.state.jobs[key] = replace(world.state.jobs[key], facts=world.jobs[key])
    world.wait(3000.0)
    world.handle(ev.ReclaimNoticed(vm.name, None))
    step(world, by)
    world.wait(after_s)
    facts = replace(
        world.jobs[key],
        status=JobStatus.DONE,
        conclusion="failure",
        finished_at=started + 3000.0 + after_s,
    )
    world.jobs[key] = facts
    world.tell(key)
    world.handle(ev.RunCompleted(key, facts.run_id, 1))
    world.run()
    assert sum(world.reruns.values()) == reruns


def test_room_that_was_read_by_a_clock_that_was_ahead_is_read_again() -> None:
    world = World()
    ahead = Quota(world.now + 365 * DAY, instances=0)
    world.handle(ev.QuotaRead(ahead))
    world.wait(60.0)
    world.handle(ev.QuotaRead(Quota(world.now, instances=5)))
    assert world.state.quota == Quota(world.now, instances=5)


def test_a_list_that_was_asked_for_before_the_clock_was_set_back_proves_no_absence() -> None:
    world = World()
    key = world.queued()
    vm = world.vm_for(key)
    world.pending.clear()
    world.handle(ev.CreateSent(vm.name))
    world.finish(key, "cancelled")
    world.tell(key)
    asked_at = world.now
    step(world, -DAY)
    world.handle(ev.ServersListed((), complete=True, asked_at=asked_at))
    assert world.state.vms[vm.name].phase is Phase.DELETING


@pytest.mark.parametrize(("ran_s", "reruns"), [(900.0, 0), (2400.0, 1)])
def test_a_clock_that_was_behind_while_a_job_was_heard_of_late_turns_no_failure_into_a_loss(
    ran_s: float, reruns: int
) -> None:
    world = World()
    facts = world.job()
    ahead = 3 * DAY  # the world's clock, of ours
    world.jobs[facts.key] = replace(facts, queued_at=world.now + ahead - 2300.0)
    world.tell(facts.key)
    vm = world.serve(facts.key)
    started = world.now + ahead
    running = replace(world.jobs[facts.key], started_at=started)
    world.jobs[facts.key] = running
    world.state.jobs[facts.key] = replace(world.state.jobs[facts.key], facts=running)
    world.wait(100.0)
    world.vanish(vm.name)
    away(world, ahead + 2500.0)  # our clock is right again
    world.handle(ev.ServerGone(vm.name, vm.server_id))
    world.jobs[facts.key] = replace(
        running, status=JobStatus.DONE, conclusion="failure", finished_at=started + ran_s
    )
    world.tell(facts.key)
    world.handle(ev.RunCompleted(facts.key, facts.run_id, 1))
    world.run()
    assert sum(world.reruns.values()) == reruns
