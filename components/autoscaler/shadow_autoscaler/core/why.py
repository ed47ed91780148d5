"""Why a job waits, in one paragraph that names the cause and the remedy."""

from shadow_autoscaler.core import ladder
from shadow_autoscaler.core.blockers import clock, job_block, pool_block, trial_block
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.jobs import Job, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Market, Phase, Vm
from shadow_autoscaler.core.pools import Deployment, Pool
from shadow_autoscaler.core.room import Room, total_room
from shadow_autoscaler.core.state import State


def why(state: State, key: JobKey, now: float, deployment: Deployment) -> str:
    """Say in one paragraph what a job waits for, or what became of it."""
    draft = Draft(state, now, deployment)
    job = draft.job(key)
    if job is None:
        return (
            f"Job {key} is not known here: no webhook and no list has told of it, or it ended more than "
            f"{deployment.tombstone_s / 86_400:.0f} days ago. Look at the deliveries of the webhook, and "
            f"whether {key.project} is one of the watched repositories."
        )
    texts = {
        JobStatus.WAITING: _held,
        JobStatus.QUEUED: _queued,
        JobStatus.RUNNING: _running,
        JobStatus.DONE: _done,
    }
    return f"{_head(job)} {texts[job.status](draft, job)}"


def _head(job: Job) -> str:
    return f"Job {job.facts.name} of {job.key.project} ({job.key})"


def _since(draft: Draft, at: float | None) -> str:
    if at is None:
        return "for an unknown time"
    return f"for {_span(draft.now - at)}, since {clock(at)}"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _held(_draft: Draft, job: Job) -> str:
    return (
        f"is held back by {job.key.forge} itself: an approval, a manual step or a resource group. "
        f"A VM is asked for once it is queued."
    )


def _done(draft: Draft, job: Job) -> str:
    text = f"is done: {job.facts.conclusion or 'unknown'}{f', on VM {job.vm}' if job.vm else ''}."
    return f"{text}{_reclaimed(draft, job)}"


def _reclaimed(draft: Draft, job: Job) -> str:
    texts = {
        Reclaim.NONE: "",
        Reclaim.WAITS_FOR_RUN: " Its spot VM was reclaimed; it is run again when its run has completed.",
        Reclaim.RERUN: " Its spot VM was reclaimed, and it is run again as a new job, on-demand.",
        Reclaim.GIVEN_UP: " Its spot VM was reclaimed, and it is not run again by itself; start it by hand.",
    }
    pool = draft.pool_of(job)
    limit = f" (reclaim_tries is {pool.reclaim_tries})" if pool and job.reclaim is Reclaim.GIVEN_UP else ""
    return f"{texts[job.reclaim]}{limit}"


def _running(draft: Draft, job: Job) -> str:
    where = (
        f"on VM {job.vm}" if job.vm else f"on runner {job.facts.runner_name or 'unknown'}, not one of ours"
    )
    vm = draft.vm(job.vm)
    taken = ""
    if vm is not None and vm.reclaim_at is not None and vm.live:
        taken = f" The cloud takes that VM at {clock(vm.reclaim_at)}."
    return f"runs {where} {_since(draft, job.facts.started_at)}.{taken}{_reclaimed(draft, job)}"


def _queued(draft: Draft, job: Job) -> str:
    waits = f"waits {_since(draft, job.facts.queued_at)}"
    vm = draft.vm(job.vm)
    if vm is not None:
        return f"{waits}: {_on_its_way(draft, job, vm)}."
    return f"{waits}: {_unserved(draft, job)}.{_history(job)}"


def _history(job: Job) -> str:
    texts: list[str] = []
    if job.failures:
        last = f", the last one by {job.reason}" if job.reason else ""
        texts.append(f" {job.failures} VMs for it have failed before{last}.")
    if job.on_demand_only:
        texts.append(" It goes on-demand because spot was taken from it before.")
    return "".join(texts)


def _on_its_way(draft: Draft, job: Job, vm: Vm) -> str:
    what = f"VM {vm.name} ({vm.flavor}, {vm.market})"
    texts = {
        Phase.PLANNED: f"the create call for {what} is {_call(vm)}",
        Phase.BUILDING: f"{what} is being built by the cloud {_since(draft, vm.created_at)}",
        Phase.BOOTING: f"{what} boots {_since(draft, vm.active_at)}; last heard: {vm.detail or 'nothing'}",
        Phase.REGISTERING: f"{what} has a good GPU and gets its configuration from {job.key.forge} "
        f"{_since(draft, vm.healthy_at)}{f'; last answer: {vm.detail}' if not vm.runner_name else ''}",
        Phase.READY: _ready(draft, job, vm, what),
    }
    return texts.get(vm.phase, f"{what} is {vm.phase.name.lower()}")


def _call(vm: Vm) -> str:
    if vm.sent_at is None:
        return "about to be sent"
    return f"being retried ({vm.detail})" if vm.detail else "sent and not answered yet"


def _ready(draft: Draft, job: Job, vm: Vm, what: str) -> str:
    pool = draft.pool_of(vm)
    group = f"runner group {pool.runner_group}" if pool and pool.runner_group else "its runner group"
    return (
        f"{what} has had its configuration {_since(draft, vm.ready_at)}, but {job.key.forge} gave it no "
        f"job; see whether {group} gives {job.key.project} access and whether the runner shows as online"
    )


def _unserved(draft: Draft, job: Job) -> str:
    if not job.pool:
        return job.reason or "no pool takes it"
    pool = draft.pool_of(job)
    if pool is None:
        return f"pool {job.pool} is not configured any more, and it is matched anew at the next look"
    return (
        pool_block(draft, pool)
        or job_block(draft, job, pool)
        or trial_block(draft, pool)
        or _limits(draft, pool)
        or _rungs(draft, job, pool)
        or _quota(draft, job, pool)
        or "a VM for it is asked for at the next look"
    )


def _limits(draft: Draft, pool: Pool) -> str:
    ahead = sum(1 for _ in draft.unserved(pool.name)) - 1
    others = f"; {ahead} more jobs wait with it" if ahead else ""
    live = tuple(draft.live(pool.name))
    if len(live) >= pool.max:
        busy = sum(vm.phase is Phase.BUSY for vm in live)
        going = sum(vm.phase >= Phase.CLOSING for vm in live)
        return (
            f"pool {pool.name} has its maximum of {pool.max} VMs ({busy} busy, {going} on their way out)"
            f"{others}; raise its max if the quota allows"
        )
    if not total_room(draft):
        return f"all pools together have their maximum of {draft.deployment.max_vms} VMs (max_vms){others}"
    return ""


def _rungs(draft: Draft, job: Job, pool: Pool) -> str:
    if ladder.choose(draft, pool, job) is not None:
        return ""
    until = ladder.next_warm(draft, pool)
    when = f"; tried again at {clock(until)}" if until is not None else ""
    only = ladder.spot_refusal(job, pool, draft.deployment)
    names = ", ".join(
        rung.flavor
        for rung in pool.ladder
        if rung.market is Market.ON_DEMAND or not ladder.on_demand_needed(job, pool, draft.deployment)
    )
    reason = f" (no spot, because {only})" if only else ""
    return f"the cloud has no capacity for {names}{reason}{when}"


def _quota(draft: Draft, job: Job, pool: Pool) -> str:
    step = ladder.choose(draft, pool, job)
    lacks = Room.of(draft).lacks(step.rung) if step else ""
    if not step or not lacks:
        return ""
    flavor = step.rung.flavor
    return f"the project's quota has no {lacks} left for one more {flavor}; free some or have it raised"
