"""What stops a pool from burning money: failed boots in a row, configuration errors, quota and throttling."""

import hashlib
from dataclasses import replace

from shadow_autoscaler.core.closing import backoff, close
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.faults import Failure
from shadow_autoscaler.core.jobs import JobStatus
from shadow_autoscaler.core.machines import Cause, Vm
from shadow_autoscaler.core.pools import Pool


def boot_failed(draft: Draft, vm: Vm, cause: Cause, detail: str = "") -> None:
    """A VM came to nothing by its own fault: count it for its job and its pool, and give it up."""
    charge(draft, vm, detail or cause)
    close(draft, vm, cause, detail)


def charge(draft: Draft, vm: Vm, detail: str) -> None:
    """Count a failed boot for the VM's job and pool."""
    pool = draft.pool_of(vm)
    if pool is None:
        return
    _charge_job(draft, vm, pool, detail)
    _charge_pool(draft, pool, detail)


def _charge_job(draft: Draft, vm: Vm, pool: Pool, detail: str) -> None:
    job = draft.job(vm.job)
    if job is None or job.status >= JobStatus.RUNNING:
        return
    job = replace(job, failures=job.failures + 1, reason=detail)
    over = job.failures - pool.boot_tries
    if over >= 0:
        job = replace(job, not_before=draft.now + pool.breaker_s * (over + 1))
        draft.alarm(f"job:{job.key}", f"{job.failures} VMs for job {job.key} have failed, last: {detail}")
    draft.put_job(job)


def _charge_pool(draft: Draft, pool: Pool, detail: str) -> None:
    state = draft.pool_state(pool.name)
    state = replace(state, failures=state.failures + 1)
    if state.failures >= pool.breaker_failures:
        state = replace(state, held_until=draft.now + pool.breaker_s)
        draft.alarm(
            f"breaker:{pool.name}",
            f"pool {pool.name} is held for {pool.breaker_s / 60:.0f} min: {state.failures} VMs in a row have "
            f"failed, last: {detail}; then one VM is tried",
        )
    draft.put_pool(state)


def proved(draft: Draft, pool: str) -> None:
    """A VM of the pool got its job: the way from image to runner works."""
    state = draft.pool_state(pool)
    if state.failures or state.held_until:
        draft.put_pool(replace(state, failures=0, held_until=0.0))
        draft.calm(f"breaker:{pool}")


def hold(draft: Draft, pool: Pool, text: str) -> None:
    """Hold the pool as if its VMs had failed; after the time one VM is tried."""
    state = draft.pool_state(pool.name)
    failures = max(state.failures, pool.breaker_failures)
    draft.put_pool(replace(state, failures=failures, held_until=draft.now + pool.breaker_s))
    draft.alarm(f"breaker:{pool.name}", f"pool {pool.name} is held for {pool.breaker_s / 60:.0f} min: {text}")


def half_open(draft: Draft, pool: Pool) -> bool:
    """Whether the pool's time of being held is over and nothing has proved it good yet: one VM at a time."""
    return draft.pool_state(pool.name).failures >= pool.breaker_failures


def digest(pool: Pool) -> str:
    """Return a digest of the pool's configuration, in which a mended one differs."""
    return hashlib.sha256(repr(pool).encode()).hexdigest()[:16]


def break_pool(draft: Draft, name: str, text: str) -> None:
    """Take a pool out of use until its configuration changes: no retry mends it, no other rung either."""
    pool = draft.deployment.pool(name)
    if pool is None:
        return
    draft.put_pool(replace(draft.pool_state(name), broken=text, broken_config=digest(pool)))
    draft.alarm(
        f"broken:{name}", f"pool {name} is broken and starts no VM: {text}; correct its configuration"
    )


def is_broken(draft: Draft, pool: Pool) -> bool:
    """Whether the pool is broken with the configuration it has now."""
    state = draft.pool_state(pool.name)
    return bool(state.broken) and state.broken_config == digest(pool)


def mend(draft: Draft, pool: Pool) -> None:
    """Forget that a pool was broken once its configuration has changed."""
    state = draft.pool_state(pool.name)
    if state.broken and not is_broken(draft, pool):
        draft.put_pool(replace(state, broken="", broken_config=""))
        draft.calm(f"broken:{pool.name}")


def reset(draft: Draft, pool: str) -> None:
    """An operator says that the pool is good again."""
    state = draft.pool_state(pool)
    draft.put_pool(
        replace(state, broken="", broken_config="", failures=0, held_until=0.0, paused_until=0.0, pauses=0)
    )
    draft.calm(f"broken:{pool}")
    draft.calm(f"breaker:{pool}")


def pause(draft: Draft, name: str, reason: str, failure: Failure) -> float:
    """Start no VM in the pool for a while; return until when."""
    state = draft.pool_state(name)
    until = draft.now + (failure.retry_after_s or backoff(state.pauses, 30.0))
    draft.put_pool(
        replace(state, paused_until=until, paused_reason=f"{reason}: {failure.text}", pauses=state.pauses + 1)
    )
    draft.note(name, f"paused, {reason}: {failure.text}")
    return until


def unpause(draft: Draft, name: str) -> None:
    """The cloud took a server: the next pause is a short one again."""
    state = draft.pool_state(name)
    if state.pauses:
        draft.put_pool(replace(state, pauses=0))
