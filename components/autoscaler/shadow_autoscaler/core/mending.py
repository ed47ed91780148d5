"""Rows that name one another after some of them were set aside: what the others tell is put right.

A job whose VM is unknown waits for another one, a VM whose job is unknown is free or asks the forge about it,
and a re-run that nobody is about to ask for is asked for again: a forge carries it out once.
"""

from collections.abc import Iterable
from dataclasses import replace

from shadow_autoscaler.core import rerun
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import Loaded
from shadow_autoscaler.core.intents import CheckJob, Intent, Rerun
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Phase, Vm


def on_loaded(draft: Draft, event: Loaded) -> None:
    """Rows come from a store: find those whose counterpart is missing."""
    for vm in tuple(draft.all_live()):
        if vm.job is not None:
            _vm(draft, vm, vm.job)
    for job in tuple(draft.open_jobs()):
        if job.vm and draft.vm(job.vm) is None and job.status is not JobStatus.DONE:
            draft.put_job(replace(job, vm=""))
            draft.note(job.key, f"its VM {job.vm} is not known any more")
    asked = _asked(event.intents)
    for job in tuple(draft.state.jobs.values()):
        if job.reclaim is Reclaim.RERUN and _run(job.key, job.facts.run_id) not in asked:
            rerun.on_unasked(draft, job)


def _vm(draft: Draft, vm: Vm, key: JobKey) -> None:
    job = draft.job(key)
    if job is not None:
        if not job.vm and job.status is not JobStatus.DONE:
            draft.put_job(replace(job, vm=vm.name))
    elif vm.phase < Phase.BUSY:
        draft.put_vm(replace(vm, job=None))
        draft.note(vm.name, f"its job {key} is not known any more")
    elif vm.phase <= Phase.CLOSING:
        draft.emit(CheckJob(key))


def _asked(intents: Iterable[Intent]) -> set[tuple[object, ...]]:
    return {_run(one.key, one.run_id) for one in intents if isinstance(one, Rerun)}


def _run(key: JobKey, run_id: int) -> tuple[object, ...]:
    """What one call runs again: a job at GitLab, all failed ones of a run's attempt at GitHub."""
    return (key,) if key.forge is ForgeKind.GITLAB else (key.forge, key.project, run_id, key.attempt)
