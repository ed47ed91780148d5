"""What time alone brings about: time-outs, deadlines, calls to repeat, tombstones to forget."""

from dataclasses import replace

from shadow_autoscaler.core import clocks, closing, creation, rerun
from shadow_autoscaler.core.binding import is_free
from shadow_autoscaler.core.blockers import overdue
from shadow_autoscaler.core.breaker import boot_failed
from shadow_autoscaler.core.closing import close
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.intake import ask
from shadow_autoscaler.core.jobs import ForgeKind, Job, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Cause, Phase, Vm
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.core.windows import wanted

OVERDUE_CHECK_S = 600.0
"""Time between two questions about a job beyond its queue deadline."""
UNSENT_S = 3600.0
"""How long a lane may keep a create call waiting."""
UNPOOLED_DEADLINE_S = 86_400.0
"""Age at which a job that no pool serves is asked about, so that its row does not stay for ever."""

UNCONFIGURED = Pool("", ForgeKind.GITHUB, (), (), 0, job_deadline_s=86_400.0)
"""The limits of VMs whose pool the configuration has no more: without any they could stay for ever."""


def on_tick(draft: Draft) -> None:
    """Look at every live VM and every open job."""
    for vm in tuple(draft.all_live()):
        _look(draft, vm)
    for pool in draft.deployment.pools:
        _idle(draft, pool)
    for job in tuple(draft.open_jobs()):
        _job(draft, job)
    if clocks.sure(draft):
        _forget(draft)


def _look(draft: Draft, vm: Vm) -> None:
    known = draft.pool_of(vm)
    pool = known or UNCONFIGURED
    if vm.phase is Phase.CLOSING and _overstays(draft, vm, pool):
        _force(draft, vm, pool)
    elif vm.phase >= Phase.CLOSING:
        closing.retry(draft, vm)
    elif known is None and vm.phase < Phase.BUSY:
        close(draft, vm, Cause.DRAINED, f"pool {vm.pool} is not configured any more")
    elif _forgotten(draft, vm, pool):
        close(draft, vm, Cause.BOOT_FAILED, "its create call was never sent")
    elif not _expired(draft, vm, pool):
        creation.retry(draft, vm)
        if vm.asked_at is not None and vm.retry_at is not None and vm.retry_at <= draft.now:
            closing.deregister(draft, vm)


def _forgotten(draft: Draft, vm: Vm, pool: Pool) -> bool:
    """Whether the intent to create the VM must have got lost: nothing waits that long to be sent."""
    unsent = vm.phase is Phase.PLANNED and vm.sent_at is None
    return unsent and draft.now - clocks.heard_since(draft, vm.planned_at) > UNSENT_S + pool.boot_timeout_s


def _expired(draft: Draft, vm: Vm, pool: Pool) -> bool:
    """Give the VM up if one of its times has run out."""
    if vm.busy_at is not None:
        if _beyond_deadline(draft, vm, pool):
            _deadline(draft, vm, pool)
    elif _age(draft, vm) > pool.max_lifetime_s:
        close(draft, vm, Cause.LIFETIME, f"older than max_lifetime ({pool.max_lifetime_s:.0f} s)")
    elif vm.phase < Phase.REGISTERING and vm.sent_at is not None and vm.retry_at is None:
        _boot(draft, vm, pool, vm.sent_at)
    elif vm.phase is Phase.REGISTERING:
        _registering(draft, vm, pool)
    elif vm.phase is Phase.READY and vm.job is not None:
        _pickup(draft, vm, pool)
    else:
        return False
    return (draft.vm(vm.name) or vm).phase >= Phase.CLOSING


def _overstays(draft: Draft, vm: Vm, pool: Pool) -> bool:
    """Whether a VM that is kept because its runner is busy has outlived its job's deadline."""
    if vm.busy_at is not None:
        return _beyond_deadline(draft, vm, pool)
    born = clocks.heard_since(draft, vm.planned_at if vm.created_at is None else vm.created_at)
    return draft.now - born > pool.max_lifetime_s + pool.job_deadline_s


def _beyond_deadline(draft: Draft, vm: Vm, pool: Pool) -> bool:
    """Whether its job was seen to run for longer than it may."""
    return draft.seen_s - vm.busy_seen_s > pool.job_deadline_s


def _age(draft: Draft, vm: Vm) -> float:
    return 0.0 if vm.created_at is None else draft.now - clocks.heard_since(draft, vm.created_at)


def _force(draft: Draft, vm: Vm, pool: Pool) -> None:
    text = f"kept as busy beyond job_deadline ({pool.job_deadline_s:.0f} s)"
    draft.alarm(f"deadline:{vm.name}", f"VM {vm.name} is deleted: {text}")
    closing.delete_dead(draft, vm)


def _deadline(draft: Draft, vm: Vm, pool: Pool) -> None:
    text = f"its job ran longer than job_deadline ({pool.job_deadline_s:.0f} s)"
    draft.alarm(f"deadline:{vm.name}", f"VM {vm.name} is deleted: {text}; job {vm.job}")
    close(draft, vm, Cause.JOB_DEADLINE, text)


def _boot(draft: Draft, vm: Vm, pool: Pool, since: float) -> None:
    if draft.now - clocks.heard_since(draft, since) > pool.boot_timeout_s:
        text = f"no request for a configuration within boot_timeout ({pool.boot_timeout_s:.0f} s)"
        boot_failed(draft, vm, Cause.BOOT_TIMEOUT, f"{text}; last heard: {vm.detail or 'nothing'}")


def _registering(draft: Draft, vm: Vm, pool: Pool) -> None:
    since = clocks.heard_since(draft, vm.healthy_at or vm.planned_at)
    if draft.now - since > pool.boot_timeout_s:
        detail = f"the forge gave it no configuration in time: {vm.detail or 'no answer'}"
        boot_failed(draft, vm, Cause.REGISTRATION, detail)


def _pickup(draft: Draft, vm: Vm, pool: Pool) -> None:
    ready_at = clocks.heard_since(draft, vm.ready_at or vm.asked_at or draft.now)
    waited = draft.now - max(ready_at, _bound_at(draft, vm))
    job = draft.job(vm.job)
    if job is None or job.status is not JobStatus.QUEUED:
        return
    if waited > pool.pickup_timeout_s:
        text = f"online for {waited:.0f} s, and the forge gave it no job; has its runner group access?"
        boot_failed(draft, vm, Cause.PICKUP_TIMEOUT, text)
    elif waited > pool.pickup_timeout_s / 2 and draft.now - job.checked_at > pool.pickup_timeout_s / 2:
        ask(draft, job)


def _bound_at(draft: Draft, vm: Vm) -> float:
    """A warm VM waits for its job's arrival, not from its own hand-over on."""
    job = draft.job(vm.job)
    return job.seen_at if job is not None else 0.0


def _idle(draft: Draft, pool: Pool) -> None:
    """Give up warm VMs beyond the wanted number that have been idle for long, the oldest first."""
    free = [vm for vm in draft.live(pool.name) if is_free(vm)]
    surplus = len(free) - wanted(pool, draft.now)
    if surplus <= 0:
        return
    free.sort(key=lambda vm: (vm.planned_at, vm.name))
    for vm in free[:surplus]:
        if pool.forge is ForgeKind.GITLAB and vm.phase is Phase.READY:
            continue  # ends by itself after as long, and cannot be refused a job meanwhile
        if draft.now - clocks.heard_since(draft, vm.ready_at or vm.planned_at) > pool.idle_timeout_s:
            close(draft, vm, Cause.IDLE, "warm beyond the wanted number")


def _job(draft: Draft, job: Job) -> None:
    pool = draft.pool_of(job)
    if job.reclaim is Reclaim.WAITS_FOR_RUN:
        rerun.retry(draft, job)
    elif draft.now - max(job.checked_at, job.seen_at) < OVERDUE_CHECK_S:
        return
    elif pool is not None and job.status is JobStatus.QUEUED:
        if overdue(draft, job, pool):
            ask(draft, job)
    elif job.facts.partial or draft.now - job.facts.queued_at > UNPOOLED_DEADLINE_S:
        ask(draft, job)


def _forget(draft: Draft) -> None:
    """Forget tombstones that no late delivery can ask for any more."""
    before = draft.now - draft.deployment.tombstone_s
    index = draft.state.index
    for key in index.ended:
        job = draft.job(key)
        if job is None or (job.ended_at or 0.0) > before:
            break
        if job.reclaim is not Reclaim.WAITS_FOR_RUN and job.checked_at <= before:
            draft.dropped_jobs.append(key)
            _calm(draft, ("job", "vanished", "reclaim", "rerun"), str(key))
    for name in index.gone:
        vm = draft.vm(name)
        if vm is None or (vm.deleted_at or 0.0) > before:
            break
        draft.dropped_vms.append(name)
        _calm(draft, ("deadline", "delete", "deregister"), name)
    _forget_busy(draft)


def _calm(draft: Draft, kinds: tuple[str, ...], subject: str) -> None:
    for kind in kinds:
        draft.calm(f"{kind}:{subject}")


def _forget_busy(draft: Draft) -> None:
    for what in draft.state.suspects:
        known = draft.suspect(what) if what.startswith(("busy:", "over:")) else None
        if known is not None and draft.now - known.since > OVERDUE_CHECK_S * 6:
            draft.suspects[what] = None


def drop_pool(draft: Draft, pool: str) -> None:
    """Take the pool's idle VMs out of use; busy ones finish."""
    draft.put_pool(replace(draft.pool_state(pool), drained=True))
    for vm in tuple(draft.live(pool)):
        if vm.phase < Phase.BUSY:
            close(draft, vm, Cause.DRAINED, "pool drained by an operator")
