"""Running reclaimed jobs again: once per run and attempt, after the run has completed, then on-demand.

GitHub re-runs all failed jobs of a run by one call, when the run has completed; the new jobs have the same
names, other IDs and the next attempt. GitLab re-runs one job by one call, at any time, and may do so by
itself (`retry:`); the new job has the same name in the same pipeline and a higher ID.
"""

from collections.abc import Iterable
from dataclasses import replace

from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import RerunAnswered, RerunOutcome, RunCompleted
from shadow_autoscaler.core.index import run_key
from shadow_autoscaler.core.intents import CheckJob, Rerun
from shadow_autoscaler.core.jobs import ForgeKind, Job, JobStatus, Reclaim
from shadow_autoscaler.core.state import Suspect

OWN_RETRY_S = 30.0
"""How long GitLab is given to make the new job of a project's own `retry:`."""
ASK_AGAIN_S = 300.0
"""Time between two tries to re-run where nobody says that the run has completed."""
LINKED = frozenset({Reclaim.WAITS_FOR_RUN, Reclaim.RERUN})


def on_run_completed(draft: Draft, event: RunCompleted) -> None:
    """A run has ended: run its reclaimed jobs again."""
    run = (event.key.forge, event.key.project, event.run_id)
    github = event.key.forge is ForgeKind.GITHUB
    jobs = [job for job in draft.run_jobs(run) if not github or job.key.attempt == event.attempt]
    for job in jobs:
        if job.status is not JobStatus.DONE and job.vm:
            draft.suspects[_over(job)] = Suspect(_over(job), draft.now)
    _request(draft, jobs)


def _request(draft: Draft, jobs: Iterable[Job]) -> None:
    known = sorted(jobs, key=lambda job: job.key)
    waiting = [job for job in known if job.reclaim is Reclaim.WAITS_FOR_RUN and _has_ended(draft, job)]
    allowed = [job for job in waiting if not _superseded(draft, job) and _allowed(draft, job)]
    for job in allowed:
        draft.put_job(replace(job, reclaim=Reclaim.RERUN, checked_at=draft.now))
    if not allowed:
        return
    if allowed[0].key.forge is ForgeKind.GITLAB:
        for job in allowed:
            draft.emit(Rerun(job.key, job.facts.run_id))
    elif not any(job.reclaim is Reclaim.RERUN for job in known):
        draft.emit(Rerun(allowed[0].key, allowed[0].facts.run_id))


def on_lost_late(draft: Draft, job: Job) -> None:
    """A job was found to be lost after it had ended: its run may have completed before, so ask at once.

    GitHub refuses as long as the run goes on; GitLab may be about to run the job again by itself.
    """
    if job.key.forge is ForgeKind.GITHUB and job.reclaim is Reclaim.WAITS_FOR_RUN:
        jobs = draft.run_jobs(run_key(job))
        _request(draft, [one for one in jobs if one.key.attempt == job.key.attempt])


def _has_ended(draft: Draft, job: Job) -> bool:
    """Whether the forge has said how the job ended: it may have done so before its VM was taken."""
    if job.status is JobStatus.DONE:
        return True
    draft.emit(CheckJob(job.key))
    return False


def on_job_done(draft: Draft, job: Job) -> None:
    """A job has ended whose run had completed before: the two are told in any order."""
    if draft.suspect(_over(job)) is None:
        return
    draft.suspects[_over(job)] = None
    if job.reclaim is Reclaim.WAITS_FOR_RUN:
        _request(draft, [one for one in draft.run_jobs(run_key(job)) if one.key.attempt == job.key.attempt])


def _over(job: Job) -> str:
    return f"over:{job.key}"


def _superseded(draft: Draft, job: Job) -> bool:
    """Whether the job runs again already: by a call without an answer, by the forge, or by a person."""
    if not any(_older(job, one) for one in draft.run_jobs(run_key(job))):
        return False
    draft.put_job(replace(job, reclaim=Reclaim.RERUN))
    draft.note(job.key, "not run again: a newer attempt is there")
    return True


def _allowed(draft: Draft, job: Job) -> bool:
    pool = draft.pool_of(job)
    if pool is None or not pool.policy.rerun:
        draft.put_job(replace(job, reclaim=Reclaim.GIVEN_UP))
        draft.note(job.key, "not run again: the pool's policy forbids it (policy.rerun)")
        return False
    if job.reclaims > pool.reclaim_tries:
        draft.put_job(replace(job, reclaim=Reclaim.GIVEN_UP))
        draft.alarm(
            f"reclaim:{job.key}",
            f"job {job.key} ({job.facts.name}) was reclaimed {job.reclaims} times and is not run again "
            f"(reclaim_tries is {pool.reclaim_tries})",
        )
        return False
    return True


def on_answer(draft: Draft, event: RerunAnswered) -> None:
    """The forge answered a re-run."""
    for job in _asked(draft, event):
        if event.outcome is RerunOutcome.NOT_YET:
            draft.put_job(replace(job, reclaim=Reclaim.WAITS_FOR_RUN, checked_at=draft.now))
        elif event.outcome is RerunOutcome.REFUSED:
            draft.put_job(replace(job, reclaim=Reclaim.GIVEN_UP))
            draft.alarm(f"rerun:{job.key}", f"the forge refuses to run job {job.key} again: {event.detail}")


def _asked(draft: Draft, event: RerunAnswered) -> list[Job]:
    job = draft.job(event.key)
    if job is None:
        return []
    if job.key.forge is ForgeKind.GITLAB:
        return [job] if job.reclaim is Reclaim.RERUN else []
    return [
        one
        for one in draft.run_jobs(run_key(job))
        if one.reclaim is Reclaim.RERUN and one.key.attempt == job.key.attempt
    ]


def inherit(draft: Draft, job: Job) -> Job:
    """Take over what happened to the former attempt; a re-run of ours goes on-demand as a whole."""
    former = [one for one in draft.run_jobs(run_key(job)) if _older(one, job)]
    same = max((one for one in former if one.facts.name == job.facts.name), default=None, key=_age)
    if same is not None and same.reclaim in LINKED:
        if same.reclaim is Reclaim.WAITS_FOR_RUN:
            draft.put_job(replace(same, reclaim=Reclaim.RERUN))
            draft.note(same.key, f"run again as {job.key}, not by us")
        return replace(job, reclaims=same.reclaims, on_demand_only=True)
    ours = any(one.reclaim is Reclaim.RERUN and one.key.attempt == job.key.attempt - 1 for one in former)
    return replace(job, on_demand_only=True) if ours else job


def _age(job: Job) -> tuple[int, int]:
    return job.key.attempt, job.key.job_id


def _older(one: Job, job: Job) -> bool:
    if job.key.forge is ForgeKind.GITHUB:
        return one.key.attempt < job.key.attempt
    return one.facts.name == job.facts.name and one.key.job_id < job.key.job_id


def on_unasked(draft: Draft, job: Job) -> None:
    """No call is about to be made: unless the job runs again already, it waits for one as before."""
    if not any(_older(job, one) for one in draft.run_jobs(run_key(job))):
        draft.put_job(replace(job, reclaim=Reclaim.WAITS_FOR_RUN, checked_at=draft.now))


def retry(draft: Draft, job: Job) -> None:
    """Ask again, or for the first time where nobody said that the run has completed."""
    if job.status is not JobStatus.DONE:
        if draft.now - max(job.checked_at, job.seen_at) >= ASK_AGAIN_S:
            draft.put_job(replace(job, checked_at=draft.now))
            draft.emit(CheckJob(job.key))
        return
    gitlab = job.key.forge is ForgeKind.GITLAB
    since = max(job.checked_at, job.ended_at or 0.0)
    if draft.now - since < (OWN_RETRY_S if gitlab else ASK_AGAIN_S):
        return
    jobs = [one for one in draft.run_jobs(run_key(job)) if gitlab or one.key.attempt == job.key.attempt]
    _request(draft, [job] if gitlab else jobs)
