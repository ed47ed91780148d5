"""Case 7 of the autoscaler's input cases: reclaims, with a notice and without, and what is run again."""

from dataclasses import replace

import pytest
from unit.autoscaler.core.samples import DEPLOYMENT, FAILED, GITLAB, P1
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.events import Removal, RerunOutcome
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, Reclaim
from shadow_autoscaler.core.machines import Cause, Market, Phase, ServerStatus
from shadow_autoscaler.core.pools import Deployment, Policy
from shadow_autoscaler.core.state import Decision


def reclaimed(world: World, key: JobKey, *, notice: bool = True) -> None:
    """A job's VM is announced and taken after 34 minutes of work, and the forge calls the job failed."""
    vm = world.vm_for(key)
    world.now += 34 * 60
    if notice:
        world.handle(ev.ReclaimNoticed(vm.name, world.now + 900))
        world.now += 900
    world.vanish(vm.name)
    world.list_servers()
    world.list_servers()
    world.run()
    world.finish(key, FAILED)
    world.tell(key)
    world.run()


def complete(world: World, run_id: int = 900, attempt: int = 1) -> None:
    world.handle(ev.RunCompleted(JobKey(ForgeKind.GITHUB, "acme/app", 0), run_id, attempt))
    world.run()


def attempts(world: World, attempt: int) -> list[JobKey]:
    return [key for key in world.jobs if key.attempt == attempt]


def two_reclaimed() -> tuple[World, list[JobKey]]:
    world = World()
    keys = [world.queued(name="train-a"), world.queued(name="train-b"), world.queued(name="lint")]
    for key in keys:
        world.serve(key)
    for key in keys[:2]:
        reclaimed(world, key)
    return world, keys


def test_case_7_a_busy_vm_is_left_alone_on_notice() -> None:
    world = World()
    vm = world.serve(world.queued())
    world.handle(ev.ReclaimNoticed(vm.name, world.now + 900))
    assert not world.pending
    assert world.state.vms[vm.name].phase is Phase.BUSY


def test_case_7_a_run_that_is_told_to_be_over_before_its_job_is_run_again_at_once() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.handle(ev.ReclaimNoticed(vm.name, world.now + 6))
    world.now += 6
    world.vanish(vm.name)
    world.list_servers()
    world.list_servers()
    world.run()
    world.handle(ev.RunCompleted(JobKey(ForgeKind.GITHUB, "acme/app", 0), 900, 1))
    assert not world.of(to.Rerun)
    world.finish(key, FAILED)
    world.tell(key)
    assert len(world.of(to.Rerun)) == 1
    world.run()
    complete(world)
    assert len(world.of(to.Rerun)) == 1
    assert len(attempts(world, 2)) == 1


def test_case_7_one_call_for_the_run_after_it_has_completed_and_the_new_jobs_go_on_demand() -> None:
    world, keys = two_reclaimed()
    assert not world.of(to.Rerun)
    world.finish(keys[2])
    world.tell(keys[2])
    complete(world)
    complete(world)
    assert len(world.of(to.Rerun)) == 1
    again = attempts(world, 2)
    assert len(again) == 2
    for key in again:
        world.tell(key)
        assert world.vm_for(key).market is Market.ON_DEMAND
        assert world.state.jobs[key].reclaims == 1


def test_case_7_reclaim_recognised_after_the_run_completed_joins_its_re_run() -> None:
    world, keys = two_reclaimed()
    world.finish(keys[2])
    world.tell(keys[2])
    complete(world)
    job = world.state.jobs[keys[2]]
    world.state.apply(Decision(jobs=(replace(job, reclaim=Reclaim.WAITS_FOR_RUN, reclaims=1),)))
    complete(world)
    assert len(world.of(to.Rerun)) == 1


def test_case_7_a_further_reclaim_is_reported_and_not_run_again() -> None:
    world, keys = two_reclaimed()
    world.finish(keys[2])
    world.tell(keys[2])
    complete(world)
    [first, _] = attempts(world, 2)
    world.tell(first)
    world.serve(first)
    vm = world.vm_for(first)
    world.state.apply(Decision(vms=(replace(vm, market=Market.SPOT),)))
    reclaimed(world, first)
    complete(world, attempt=2)
    assert len(world.of(to.Rerun)) == 1
    assert world.state.jobs[first].reclaim is Reclaim.GIVEN_UP
    assert world.alarms[-1].subject == f"reclaim:{first}"


def test_case_7_an_answer_that_was_lost_leads_to_no_second_call_once_the_new_attempt_is_known() -> None:
    world = World()
    key = world.queued()
    world.serve(key)
    reclaimed(world, key)
    complete(world)
    [again] = attempts(world, 2)
    world.tell(again)
    world.handle(ev.RerunAnswered(key, RerunOutcome.NOT_YET))
    for _ in range(3):
        world.wait(301)
    complete(world)
    assert len(world.of(to.Rerun)) == 1
    assert world.state.jobs[key].reclaim is Reclaim.RERUN


def test_case_7_a_job_that_waits_for_its_run_is_remembered_as_long_as_it_waits() -> None:
    world = World()
    key = world.queued()
    sibling = world.queued(name="sweep")
    world.serve(key)
    world.serve(sibling)
    reclaimed(world, key)
    for _ in range(4):
        world.wait(86_400)
        world.run()
    world.finish(sibling)
    world.tell(sibling)
    complete(world)
    assert attempts(world, 2)
    world.wait(DEPLOYMENT.tombstone_s)
    world.wait(1)
    assert key not in world.state.jobs


def test_case_7_policy_without_re_run_calls_nothing() -> None:
    pool = replace(P1, policy=Policy(rerun=False))
    world = World(deployment=Deployment("acme-ci", (pool,)))
    key = world.queued()
    world.serve(key)
    reclaimed(world, key)
    complete(world)
    assert not world.of(to.Rerun)
    assert world.state.jobs[key].reclaim is Reclaim.GIVEN_UP


def test_case_7_a_refused_re_run_alarms_and_does_not_loop() -> None:
    world = World()
    key = world.queued()
    world.serve(key)
    reclaimed(world, key)
    world.handle(ev.RunCompleted(key, 900, 1))
    world.pending.clear()
    world.handle(ev.RerunAnswered(key, RerunOutcome.REFUSED, "403 Resource not accessible by integration"))
    for _ in range(20):
        world.wait(600)
    complete(world)
    assert not world.of(to.Rerun)
    assert [alarm.subject for alarm in world.alarms] == [f"rerun:{key}"]


def test_case_7_without_a_completion_event_the_forge_is_asked_again_later() -> None:
    world = World()
    key = world.queued()
    sibling = world.queued(name="lint")
    world.serve(key)
    world.serve(sibling)
    reclaimed(world, key)
    world.wait(301)
    world.run()
    assert world.state.jobs[key].reclaim is Reclaim.WAITS_FOR_RUN
    world.finish(sibling)
    world.tell(sibling)
    world.wait(301)
    world.run()
    assert world.state.jobs[key].reclaim is Reclaim.RERUN
    assert len(attempts(world, 2)) == 1


def test_case_7_completed_first_and_the_vm_gone_later_counts_by_the_announced_time() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.handle(ev.ReclaimNoticed(vm.name, world.now + 900))
    world.now += 890
    world.finish(key, FAILED)
    world.tell(key)
    assert world.state.jobs[key].reclaim is Reclaim.WAITS_FOR_RUN


@pytest.mark.parametrize("ended", [False, True])
def test_case_7_a_failure_long_before_the_announced_time_is_the_jobs_own(*, ended: bool) -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.handle(ev.ReclaimNoticed(vm.name, world.now + 900))
    world.now += 895 if ended else 300
    if ended:
        world.handle(ev.VmReported(vm.name, "ended", "ok"))
    world.finish(key, FAILED)
    world.tell(key)
    assert world.state.jobs[key].reclaim is Reclaim.NONE


def test_case_7_a_job_that_succeeded_is_not_run_again() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.now += 3600
    world.handle(ev.ReclaimNoticed(vm.name, world.now))
    world.vanish(vm.name)
    world.list_servers()
    world.run()
    world.finish(key, "success")
    world.tell(key)
    complete(world)
    assert world.state.jobs[key].reclaim is Reclaim.NONE
    assert not world.of(to.Rerun)


# --- reclaims without a notice: by facts -------------------------------------------------------------------


@pytest.mark.parametrize("status", [ServerStatus.STOPPED, ServerStatus.ERROR, ServerStatus.DELETING, None])
def test_case_7_without_a_notice_a_spot_vm_past_its_guaranteed_uptime_was_reclaimed(
    status: ServerStatus | None,
) -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.now += DEPLOYMENT.spot_min_uptime_s
    if status is None:
        world.vanish(vm.name)
    else:
        world.set_server(world.machine(vm.name), status)
    world.list_servers()
    world.run()
    assert world.state.vms[vm.name].cause is Cause.RECLAIMED
    assert world.state.jobs[key].reclaim is Reclaim.WAITS_FOR_RUN
    assert world.state.vms[vm.name].phase is Phase.GONE


@pytest.mark.parametrize(("market", "uptime"), [(Market.SPOT, 600.0), (Market.ON_DEMAND, 7200.0)])
def test_case_7_what_else_vanishes_is_told_and_not_run_again(market: Market, uptime: float) -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.state.apply(Decision(vms=(replace(vm, market=market),)))
    world.now += uptime
    world.vanish(vm.name)
    world.list_servers()
    world.run()
    assert world.state.vms[vm.name].cause is Cause.VANISHED
    assert world.state.jobs[key].reclaim is Reclaim.NONE
    assert [alarm.subject for alarm in world.alarms] == [f"vanished:{key}"]


def test_case_7_a_reclaim_before_the_job_starts_uses_no_budget_and_goes_on_demand() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    world.boot(vm.name)
    world.handle(ev.ReclaimNoticed(vm.name, None))
    world.run()
    job = world.state.jobs[key]
    assert (job.failures, job.reclaims) == (0, 0)
    assert world.state.pools.get("p1") is None or world.state.pools["p1"].failures == 0
    assert world.vm_for(key).market is Market.ON_DEMAND
    assert world.state.vms[vm.name].phase is Phase.GONE


def test_case_7_a_vm_that_gets_a_job_while_it_is_given_up_keeps_it() -> None:
    world = World()
    key = world.queued()
    world.run()
    vm = world.vm_for(key)
    world.boot(vm.name)
    world.start(key, world.machine(vm.name))
    world.handle(ev.ReclaimNoticed(vm.name, None))
    assert world.remove_runner(vm.name + "-1") is Removal.BUSY
    world.carry(0)
    assert world.state.vms[vm.name].phase is Phase.CLOSING
    assert world.machine(vm.name).job == key


# --- GitLab ------------------------------------------------------------------------------------------------


def gitlab_reclaimed(world: World, **words: object) -> JobKey:
    key = world.queued(("shadow-gpu",), forge=ForgeKind.GITLAB, **words)
    world.run()
    vm = world.vm_for(key)
    world.boot(vm.name)
    world.start(key, world.machine(vm.name))
    world.tell(key)
    world.run()
    assert world.state.vms[vm.name].phase is Phase.BUSY
    world.now += 3600
    world.vanish(vm.name)
    world.list_servers()
    world.run()
    world.finish(key, FAILED)
    world.tell(key)
    return key


def test_case_7_gitlab_retries_one_job_when_the_project_did_not() -> None:
    world = World()
    key = gitlab_reclaimed(world)
    world.wait(10)
    assert not world.of(to.Rerun)
    world.wait(31)
    world.run()
    assert [one.key for one in world.of(to.Rerun) if isinstance(one, to.Rerun)] == [key]
    world.list_jobs()
    [new] = [other for other in world.jobs if other != key]
    assert world.vm_for(new).market is Market.ON_DEMAND
    assert world.state.jobs[new].reclaims == 1


def test_case_7_gitlabs_own_retry_is_taken_for_ours() -> None:
    world = World()
    key = gitlab_reclaimed(world)
    own = world.job(("shadow-gpu",), forge=ForgeKind.GITLAB).key
    world.tell(own)
    world.run()
    world.wait(120)
    world.run()
    assert not world.of(to.Rerun)
    assert world.state.jobs[key].reclaim is Reclaim.RERUN
    assert world.vm_for(own).market is Market.ON_DEMAND
    assert GITLAB.reclaim_tries == world.state.jobs[own].reclaims
