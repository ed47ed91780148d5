"""Spot: VMs that the cloud takes back, and the jobs on them.

A VM counts as reclaimed only by facts. Its server has to be gone (404), in ERROR, stopped or being deleted,
by no deletion of ours, before its runner said that it had ended, and it has to be a spot VM for which either
a notice was seen or the uptime that the cloud guarantees to spot had passed. Everything else that disappears
has vanished: it is told, it counts as a failed boot where it had no job yet, and its job is not run again.
"""

from dataclasses import replace

from shadow_autoscaler.core import rerun
from shadow_autoscaler.core.breaker import charge
from shadow_autoscaler.core.closing import close, end
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import ReclaimNoticed
from shadow_autoscaler.core.jobs import Job, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Cause, Market, Phase, Vm

FAILED = frozenset({"failure", "failed", "timed_out"})
"""Conclusions of a job that the loss of its VM can explain."""
SYSTEM_FAILURES = frozenset({"runner_system_failure", "stuck_or_timeout_failure", "runner_unsupported"})
"""GitLab's reasons that are not the job's own."""
NOTICE_SLACK_S = 120.0
"""How long before the announced end a failure is laid to it: runners are stopped a little earlier."""

AGREED_S = 120.0
"""Up to this two clocks are taken to be one, and the rest for the time that news takes."""
NOTICE_MOST_S = 86_400.0
"""How far from now an announced end can lie; the time comes from the VM, whose clock may be wrong."""


def on_notice(draft: Draft, event: ReclaimNoticed) -> None:
    """The VM will be taken: a busy one works on as long as it can, any other is given up now."""
    vm = draft.vm(event.vm)
    if vm is None or not vm.live or vm.reclaim_at is not None:
        return
    vm = draft.put_vm(replace(vm, reclaim_at=_announced(draft, vm, event.at)))
    draft.note(vm.name, "the cloud announces that it takes this VM")
    if vm.phase < Phase.BUSY:
        _spare_job(draft, vm)
        close(draft, vm, Cause.RECLAIMED, "reclaim announced before it had a job")


def _announced(draft: Draft, vm: Vm, at: float | None) -> float:
    """Return when the VM is taken, by our clock; what its own cannot mean counts as not said."""
    job = draft.job(vm.job)
    ours = None if at is None else at + (_apart(job, vm) if job is not None else 0.0)
    if ours is not None and abs(ours - draft.now) <= NOTICE_MOST_S:
        return ours
    return draft.now + draft.deployment.spot_notice_s


def lost(draft: Draft, vm: Vm, how: str) -> Vm:
    """The VM's server runs no more, and not by our doing: find the cause and see to its job."""
    if vm.runner_ended_at is not None or vm.cause in {Cause.JOB_DONE, Cause.JOB_DEADLINE}:
        return end(draft, _judge_late(draft, vm), Cause.JOB_DONE, how)
    cause = Cause.RECLAIMED if _was_reclaimed(draft, vm) else Cause.VANISHED
    job = draft.job(vm.job)
    if job is None or job.status < JobStatus.RUNNING:
        _lost_without_job(draft, vm, cause, how)
    elif job.status is JobStatus.RUNNING:
        job_lost(draft, job, cause, how)
    vm = draft.vm(vm.name) or vm
    return end(draft, vm, cause, how)


def _judge_late(draft: Draft, vm: Vm) -> Vm:
    job = draft.job(vm.job)
    late = vm.runner_ended_at is None and vm.cause is Cause.JOB_DONE and vm.phase is Phase.CLOSING
    if late and job is not None and _has_failed(job) and _was_reclaimed(draft, vm) and _due(draft, job, vm):
        job_lost(draft, job, Cause.RECLAIMED, "its VM was gone when it failed")
        rerun.on_lost_late(draft, draft.job(job.key) or job)
        return draft.put_vm(replace(vm, cause=Cause.RECLAIMED))
    return vm


def _due(draft: Draft, job: Job, vm: Vm) -> bool:
    """Whether the job ended when its VM may have been taken already; an earlier failure is its own."""
    ended, since = _ended(draft, job, vm), _up_since(vm)
    if vm.reclaim_at is not None:
        return ended >= vm.reclaim_at - NOTICE_SLACK_S
    return ended >= since + draft.deployment.spot_min_uptime_s


def _up_since(vm: Vm) -> float:
    return next(at for at in (vm.active_at, vm.created_at, vm.planned_at) if at is not None)


def _ended(draft: Draft, job: Job, vm: Vm) -> float:
    """Return when the job ended, by our clock, which may be another than the forge's."""
    at = job.facts.finished_at
    if at is None:
        return draft.now
    apart = _apart(job, vm)
    if apart and at + apart <= draft.now:
        return at + apart
    return at if _up_since(vm) <= at <= draft.now else draft.now


def _apart(job: Job, vm: Vm) -> float:
    """Return how far our clock is ahead of the world's: what a forge timed, we heard of no earlier."""
    facts = job.facts
    apart = job.seen_at - facts.queued_at
    if facts.started_at is not None and vm.busy_at is not None:
        started = vm.busy_at - facts.started_at
        # Late news makes either number larger, so one below zero is the clocks' doing and at most too large.
        apart = started if started < 0 else min(apart, started, key=abs)
    return apart if abs(apart) > AGREED_S else 0.0


def _was_reclaimed(draft: Draft, vm: Vm) -> bool:
    """Whether the disappearance of a VM is a reclaim, by facts."""
    if vm.market is not Market.SPOT:
        return False
    uptime = draft.now - _up_since(vm)
    return vm.reclaim_at is not None or uptime >= draft.deployment.spot_min_uptime_s


def _lost_without_job(draft: Draft, vm: Vm, cause: Cause, how: str) -> None:
    if cause is Cause.RECLAIMED:
        _spare_job(draft, vm)
    elif vm.phase < Phase.CLOSING:
        charge(draft, vm, f"it vanished: {how}")


def _spare_job(draft: Draft, vm: Vm) -> None:
    """A reclaim never counts as a failed boot; the next VM is on-demand, so that it ends."""
    job = draft.job(vm.job)
    if job is not None and job.status < JobStatus.RUNNING:
        draft.put_job(replace(job, on_demand_only=True))


def job_lost(draft: Draft, job: Job, cause: Cause, how: str) -> None:
    """A job has lost its VM: a reclaimed one waits for its run to complete and is run again."""
    if job.reclaim is not Reclaim.NONE:
        return
    if cause is not Cause.RECLAIMED:
        draft.put_job(replace(job, reason=f"its VM {job.vm} vanished: {how}"))
        draft.alarm(
            f"vanished:{job.key}", f"VM {job.vm} vanished under job {job.key}, and not by a reclaim: {how}"
        )
        return
    draft.put_job(replace(job, reclaim=Reclaim.WAITS_FOR_RUN, reclaims=job.reclaims + 1))
    draft.note(job.key, f"spot VM {job.vm} was reclaimed under it: {how}")


def _has_failed(job: Job) -> bool:
    """Whether the forge calls the job failed."""
    return job.status is JobStatus.DONE and job.facts.conclusion in FAILED


def on_job_done(draft: Draft, job: Job, vm: Vm | None) -> Job:
    """The forge says that the job is done: was it the reclaim, or did it end by itself?"""
    if job.reclaim is Reclaim.WAITS_FOR_RUN:
        by_itself = not _has_failed(job) or (vm is not None and not _due(draft, job, vm))
        return draft.put_job(replace(job, reclaim=Reclaim.NONE)) if by_itself else job
    if vm is not None and vm.job == job.key and _has_failed(job) and _by_notice(draft, job, vm):
        job_lost(draft, job, Cause.RECLAIMED, "it failed when the VM was due to be taken")
    return draft.job(job.key) or job


def _by_notice(draft: Draft, job: Job, vm: Vm) -> bool:
    if vm.market is not Market.SPOT or vm.reclaim_at is None or vm.runner_ended_at is not None:
        return False
    return _due(draft, job, vm) or job.facts.failure_reason in SYSTEM_FAILURES
