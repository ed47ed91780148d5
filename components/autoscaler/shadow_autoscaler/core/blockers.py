"""What holds a pool or a waiting job: the same predicates decide and explain."""

from datetime import UTC, datetime

from shadow_autoscaler.core.breaker import half_open, is_broken
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.jobs import Job
from shadow_autoscaler.core.machines import Phase
from shadow_autoscaler.core.pools import Pool

CONFIRMED_S = 600.0
"""How long the forge's word that an overdue job still waits is good for."""


def clock(at: float) -> str:
    """Return a time for people."""
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"


def pool_block(draft: Draft, pool: Pool) -> str:
    """Say why the pool starts no VM now; empty when nothing but its limits holds it."""
    state = draft.pool_state(pool.name)
    if state.drained:
        return f"pool {pool.name} is drained by an operator"
    if is_broken(draft, pool):
        return f"pool {pool.name} is broken: {state.broken}; correct its configuration"
    if state.held_until > draft.now:
        return (
            f"pool {pool.name} is held until {clock(state.held_until)} because {state.failures} VMs in a row "
            f"have failed; look at the console log of the last one"
        )
    if state.paused_until > draft.now:
        return f"pool {pool.name} is paused until {clock(state.paused_until)} ({state.paused_reason})"
    return ""


def trial_block(draft: Draft, pool: Pool) -> str:
    """Say that a held pool tries one VM and the rest wait for it."""
    if half_open(draft, pool) and any(vm.phase < Phase.BUSY for vm in draft.live(pool.name)):
        return f"pool {pool.name} tries a single VM after failures, and this job waits for how that goes"
    return ""


def overdue(draft: Draft, job: Job, pool: Pool) -> bool:
    """Whether the job waits longer than the pool allows and the forge has not confirmed it lately."""
    return (
        draft.now - job.facts.queued_at > pool.queue_deadline_s and draft.now - job.confirmed_at > CONFIRMED_S
    )


def job_block(draft: Draft, job: Job, pool: Pool) -> str:
    """Say why the job alone gets no VM now; empty when nothing of its own holds it."""
    if job.not_before > draft.now:
        return f"{job.failures} VMs for it have failed, so the next one is tried at {clock(job.not_before)}"
    if overdue(draft, job, pool):
        return (
            f"it has waited since {clock(job.facts.queued_at)}, so the forge is asked whether it still does"
        )
    return ""
