"""What the forges say about jobs: merged forward, matched to a pool, tied to the VM that runs them."""

from dataclasses import replace

from shadow_autoscaler.core import reclaim, rerun
from shadow_autoscaler.core.binding import attach, release, runner_vm
from shadow_autoscaler.core.blockers import overdue
from shadow_autoscaler.core.closing import close, deregister
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import JobMissing, JobSeen, JobsListed, Source
from shadow_autoscaler.core.intents import CheckJob
from shadow_autoscaler.core.jobs import Job, JobFacts, JobStatus
from shadow_autoscaler.core.machines import Cause, Phase, Vm
from shadow_autoscaler.core.matching import match, needs_origin

CHECK_EVERY_S = 60.0
"""Time between two questions about a job that a list lacks."""
CHECKS_PER_LIST = 100
"""Questions at most that one list may cause."""
NEVER_RAN = frozenset({"cancelled", "canceled", "skipped", "missing", ""})
"""Conclusions of jobs that may never have had a runner."""


def on_seen(draft: Draft, event: JobSeen) -> None:
    """Take in what a forge says about one job."""
    facts = event.facts
    old = draft.job(facts.key)
    if old is None:
        _first_sight(draft, event)
    elif old.status is not JobStatus.DONE and not _settled(draft, old, facts):
        _update(draft, old, replace(old, facts=merge(old.facts, facts)), event.source)


def _settled(draft: Draft, job: Job, facts: JobFacts) -> bool:
    """Whether the facts are known already and nothing is open: most of what lists tell is old news."""
    if facts != job.facts:
        return False
    pool = draft.pool_of(job)
    return bool(job.vm) or (pool is not None and not overdue(draft, job, pool))


def on_missing(draft: Draft, event: JobMissing) -> None:
    """The forge knows the job no more: for us it is done."""
    job = draft.job(event.key)
    if job is not None and job.status is not JobStatus.DONE:
        facts = replace(job.facts, status=JobStatus.DONE, conclusion="missing")
        _update(draft, job, replace(job, facts=facts), Source.POLL)


def on_listed(draft: Draft, event: JobsListed) -> None:
    """Take a list in; jobs that a complete one lacks are asked about, never taken for done."""
    for facts in event.jobs:
        on_seen(draft, JobSeen(facts, Source.POLL))
    if not event.complete:
        return
    forges = {str(facts.key.forge) for facts in event.jobs} | {event.forge}
    listed = {facts.key for facts in event.jobs}
    lacking = (job for job in draft.open_jobs() if job.key not in listed and job.key.forge in forges)
    asked = [job for job in lacking if _may_ask(draft, job)][:CHECKS_PER_LIST]
    for job in asked:
        ask(draft, job)


def _may_ask(draft: Draft, job: Job) -> bool:
    return job.status is not JobStatus.DONE and draft.now - max(job.checked_at, job.seen_at) >= CHECK_EVERY_S


def ask(draft: Draft, job: Job) -> None:
    """Ask the forge about a job and remember when."""
    draft.put_job(replace(job, checked_at=draft.now))
    draft.emit(CheckJob(job.key))


def merge(old: JobFacts, new: JobFacts) -> JobFacts:
    """Put new facts over old ones; the status never goes back, and what is known is not forgotten."""
    if new.status < old.status:
        if not old.partial or new.partial:
            return old
        return replace(new, status=old.status, started_at=old.started_at, finished_at=old.finished_at)
    known = new
    if new.partial:
        # Labels stay known; which machine runs it is not, unless that was known before.
        asks = old.partial or (new.status is JobStatus.RUNNING and not old.runner_name)
        known = replace(new, labels=old.labels, partial=asks)
    if not known.known_origin and old.known_origin:
        known = replace(known, fork=old.fork, known_origin=True)
    return replace(
        known,
        runner_name=known.runner_name or old.runner_name,
        runner_id=old.runner_id if known.runner_id is None else known.runner_id,
        ref=known.ref or old.ref,
        started_at=old.started_at if known.started_at is None else known.started_at,
        installation_id=old.installation_id if known.installation_id is None else known.installation_id,
    )


def _first_sight(draft: Draft, event: JobSeen) -> None:
    facts = event.facts
    job = Job(facts, seen_at=draft.now)
    if facts.status is JobStatus.DONE:
        # A tombstone, so that a late `queued` finds that it is over; other jobs are none of our business.
        matched = match(facts, draft.deployment) if not facts.partial else None
        if matched is not None and matched.pool:
            _update(draft, None, replace(rerun.inherit(draft, job), pool=matched.pool), event.source)
        return
    _update(draft, None, rerun.inherit(draft, job), event.source)


def _update(draft: Draft, old: Job | None, job: Job, source: Source) -> None:
    before = old.facts if old is not None else None
    job = _route(draft, job, source, first=old is None)
    job = _confirm(draft, job, source)
    draft.put_job(job)
    if job.status >= JobStatus.RUNNING and before != job.facts:
        _running(draft, job)
    if job.status is JobStatus.DONE:
        _done(draft, draft.job(job.key) or job)


def _route(draft: Draft, job: Job, source: Source, *, first: bool) -> Job:
    """Find the pool of a job that has no VM; ask first where the forge has not told enough."""
    facts = job.facts
    if facts.status is JobStatus.DONE or job.vm:
        return job
    if facts.partial and job.pool:
        return job
    if facts.partial:
        if first:
            draft.emit(CheckJob(job.key))
        return replace(job, reason="its labels are not known yet; the forge is being asked")
    if source is Source.WEBHOOK and needs_origin(facts, draft.deployment):
        if not job.pool:
            draft.emit(CheckJob(job.key))
            return replace(
                job, reason="whether it comes from a fork is not known yet; the forge is being asked"
            )
        return job
    found = match(facts, draft.deployment)
    if found.reason and found.reason != job.reason:
        draft.note(job.key, f"not served: {found.reason}")
    return replace(job, pool=found.pool, reason=found.reason)


def _confirm(draft: Draft, job: Job, source: Source) -> Job:
    pool = draft.pool_of(job)
    if pool is None or job.status is not JobStatus.QUEUED or not overdue(draft, job, pool):
        return job
    if source is Source.POLL:
        return replace(job, confirmed_at=draft.now)
    draft.emit(CheckJob(job.key))
    return replace(job, checked_at=draft.now)


def _running(draft: Draft, job: Job) -> None:
    """Tie the job to the VM that runs it; on a machine that is not ours it only frees its VM."""
    name = job.facts.runner_name
    vm = runner_vm(draft, name)
    if vm is None and not name:
        if job.facts.partial and job.status is JobStatus.RUNNING:
            draft.emit(CheckJob(job.key))
            return
        vm = _own_vm(draft, job)
    if vm is None:
        release(draft, job.vm, job)
        draft.put_job(replace(job, vm="", reason=""))
    elif vm.job != job.key or job.vm != vm.name or vm.phase < Phase.BUSY:
        _attach(draft, job, vm)


def _own_vm(draft: Draft, job: Job) -> Vm | None:
    """A forge that names no machine: the VM meant for the job runs it, if it is registered."""
    vm = draft.vm(job.vm)
    ran = job.status is JobStatus.RUNNING or job.facts.conclusion not in NEVER_RAN
    return vm if ran and vm is not None and vm.phase >= Phase.READY else None


def _attach(draft: Draft, job: Job, vm: Vm) -> None:
    vm = attach(draft, job, vm)
    late = draft.job(job.key)
    if late is not None and late.status is JobStatus.RUNNING and vm.cause is Cause.RECLAIMED:
        reclaim.job_lost(draft, late, vm.cause, vm.detail)


def _done(draft: Draft, job: Job) -> None:
    job = draft.put_job(replace(job, ended_at=draft.now, reason=""))
    vm = draft.vm(job.vm)
    rerun.on_job_done(draft, reclaim.on_job_done(draft, job, vm))
    draft.calm(f"job:{job.key}")
    if vm is None or vm.job != job.key:
        return
    if vm.phase is Phase.BUSY:
        close(draft, vm, Cause.JOB_DONE)
    elif vm.phase is Phase.CLOSING and vm.runner_name:
        deregister(draft, vm)
    else:
        release(draft, vm.name, job)
