"""The end of a VM: registration first, then the server, until the cloud says 404."""

from dataclasses import replace

from shadow_autoscaler.core import clocks, ledger
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import DeleteFailed, Deregistered, DeregisterFailed, Removal
from shadow_autoscaler.core.faults import FailureKind
from shadow_autoscaler.core.intents import CheckJob, CheckServer, DeleteServer, Deregister
from shadow_autoscaler.core.jobs import ForgeKind, JobStatus
from shadow_autoscaler.core.machines import Cause, Phase, Vm

BOOT_CAUSES = frozenset(
    {
        Cause.BOOT_TIMEOUT,
        Cause.BOOT_FAILED,
        Cause.GPU_UNHEALTHY,
        Cause.REGISTRATION,
        Cause.PICKUP_TIMEOUT,
        Cause.VANISHED,
    }
)
"""Failures of a VM that says nothing about the cloud's capacity; the console log is kept."""
FORCED = frozenset({Cause.JOB_DEADLINE})
"""Ends that a busy runner does not put off."""
PATIENT = frozenset({Cause.IDLE, Cause.DRAINED, Cause.JOB_GONE, Cause.LIFETIME, Cause.PICKUP_TIMEOUT})
"""Ends that can wait until a GitLab machine has stopped asking for jobs by itself."""
LAST_WORD_S = 60.0
"""How long after that its last word is waited for."""
STUBBORN = 5
"""Calls in vain after which the operator is told."""


def backoff(tries: int, first: float = 20.0, most: float = 300.0) -> float:
    """Return the seconds before the next try."""
    return min(most, first * 2.0 ** min(tries, 10))


def close(draft: Draft, vm: Vm, cause: Cause, detail: str = "") -> None:
    """Give a VM up: remove its registration, then its server. One that is given up already stays as it is."""
    if vm.phase >= Phase.CLOSING:
        return
    own_end = _own_end(draft, vm) if cause in PATIENT else None
    vm = end(draft, vm, cause, detail)
    if vm.phase is Phase.PLANNED:
        _unsent(draft, vm)
    elif own_end is not None:
        draft.put_vm(replace(vm, phase=Phase.CLOSING, retry_at=own_end))
    elif vm.runner_name:
        deregister(draft, draft.put_vm(replace(vm, phase=Phase.CLOSING)))
    else:
        delete(draft, vm)


def _own_end(draft: Draft, vm: Vm) -> float | None:
    """Return when a machine must have ended by itself that may take a job at any moment; None for any other.

    GitLab removes the manager of a busy machine as well as that of an idle one, and takes one that asks for a
    job again back in; nothing else than its own end tells that no job begins on it between look and deletion.
    """
    pool = draft.pool_of(vm)
    if pool is None or pool.forge is not ForgeKind.GITLAB or vm.phase is not Phase.READY:
        return None
    if vm.ready_at is None or vm.runner_ended_at is not None:
        return None
    patience = max(pool.patience_s(warm=True), pool.patience_s(warm=False))
    return clocks.heard_since(draft, vm.ready_at) + patience + LAST_WORD_S


def end(draft: Draft, vm: Vm, cause: Cause, detail: str = "") -> Vm:
    """Write down why a VM ends and let a job that still waits go; the first cause stays."""
    job = draft.job(vm.job)
    if job is not None and job.status < JobStatus.RUNNING:
        if job.vm == vm.name:
            draft.put_job(replace(job, vm=""))
        vm = replace(vm, job=None)
    first = vm.cause is Cause.NONE
    if first:
        draft.note(vm.name, f"ends: {cause}{': ' if detail else ''}{detail}")
    return draft.put_vm(
        replace(
            vm,
            cause=cause if first else vm.cause,
            detail=(detail or vm.detail) if first else vm.detail,
            ended_at=draft.now if vm.ended_at is None else vm.ended_at,
            asked_at=None,
            retry_at=None,
        )
    )


def _unsent(draft: Draft, vm: Vm) -> None:
    if vm.sent_at is None:
        gone(draft, vm)
    else:
        draft.put_vm(replace(vm, phase=Phase.DELETING))


def deregister(draft: Draft, vm: Vm) -> None:
    """Ask the forge to remove a VM's registration."""
    draft.put_vm(replace(vm, retry_at=draft.now + backoff(vm.removals, 60.0)))
    draft.emit(Deregister(vm.name, vm.runner_name, vm.runner_id))


def delete(draft: Draft, vm: Vm) -> None:
    """Ask the cloud to delete a VM's server; without an ID the create call's outcome is awaited."""
    if not vm.server_id:
        draft.put_vm(replace(vm, phase=Phase.DELETING))
        return
    retry_at = draft.now + backoff(vm.deletes)
    draft.put_vm(replace(vm, phase=Phase.DELETING, deletes=vm.deletes + 1, retry_at=retry_at))
    draft.emit(DeleteServer(vm.name, vm.server_id, keep_console=vm.cause in BOOT_CAUSES))


def delete_dead(draft: Draft, vm: Vm) -> None:
    """Delete a server that runs nothing any more; its registration need not be gone before."""
    if vm.runner_name:
        draft.emit(Deregister(vm.name, vm.runner_name, vm.runner_id))
    delete(draft, vm)


def gone(draft: Draft, vm: Vm) -> None:
    """The server is gone or never was: the row becomes a tombstone, and room is free."""
    if vm.phase is Phase.GONE:
        return
    if vm.runner_name and vm.phase is not Phase.DELETING:
        draft.emit(Deregister(vm.name, vm.runner_name, vm.runner_id))
    vm = draft.put_vm(replace(vm, phase=Phase.GONE, deleted_at=draft.now, retry_at=None, asked_at=None))
    _book(draft, vm)
    draft.calm(f"delete:{vm.name}")
    draft.calm(f"deregister:{vm.name}")
    draft.note(vm.name, "gone")
    if vm.server_id and vm.cause is not Cause.QUOTA:
        _lift_quota_pauses(draft)


def _book(draft: Draft, vm: Vm) -> None:
    if vm.created_at is not None:
        pool = draft.pool_state(vm.pool)
        months = ledger.booked(pool.months, vm, draft.deployment, draft.now)
        draft.put_pool(replace(pool, months=months))


def _lift_quota_pauses(draft: Draft) -> None:
    for pool in draft.deployment.pools:
        state = draft.pool_state(pool.name)
        if state.paused_until > draft.now and state.paused_reason.startswith("quota"):
            draft.put_pool(replace(state, paused_until=draft.now))


def on_deregistered(draft: Draft, event: Deregistered) -> None:
    """The forge answered the removal of a VM's registration that is being closed."""
    vm = draft.vm(event.vm)
    if vm is None:
        return
    if event.outcome is Removal.BUSY:
        _busy(draft, vm)
        return
    draft.calm(f"deregister:{vm.name}")
    vm = draft.put_vm(replace(vm, runner_name="", runner_id=None, removals=0))
    if vm.phase is Phase.CLOSING:
        delete(draft, vm)


def _busy(draft: Draft, vm: Vm) -> None:
    if vm.phase is not Phase.CLOSING:
        return
    if vm.cause in FORCED:
        delete(draft, vm)
        return
    retry_at = draft.now + backoff(vm.removals, 60.0)
    draft.put_vm(replace(vm, removals=vm.removals + 1, retry_at=retry_at))
    draft.note(vm.name, "kept: the forge says that a job runs on it")
    if vm.job is not None:
        draft.emit(CheckJob(vm.job))


def on_deregister_failed(draft: Draft, event: DeregisterFailed) -> None:
    """The removal failed, which is never taken for a removal: it is asked for again later."""
    vm = draft.vm(event.vm)
    if vm is None or not vm.live or not vm.runner_name:
        return
    failure = event.failure
    removals = vm.removals + 1
    wait = failure.retry_after_s or backoff(removals, 30.0)
    draft.put_vm(replace(vm, removals=removals, retry_at=draft.now + wait))
    if removals >= STUBBORN or failure.kind in {FailureKind.AUTH, FailureKind.REFUSED}:
        draft.alarm(
            f"deregister:{vm.name}",
            f"runner {vm.runner_name} cannot be removed, so VM {vm.name} stays and costs: {failure.text}",
        )


def on_delete_failed(draft: Draft, event: DeleteFailed) -> None:
    """The delete call failed; it is sent again later."""
    vm = draft.vm(event.vm)
    if vm is None or vm.phase is not Phase.DELETING or event.server_id not in {"", vm.server_id}:
        return
    wait = event.failure.retry_after_s or backoff(vm.deletes)
    draft.put_vm(replace(vm, retry_at=draft.now + wait))
    if vm.deletes >= STUBBORN:
        _undeletable(draft, vm, event.failure.text)


def _undeletable(draft: Draft, vm: Vm, text: str) -> None:
    draft.alarm(
        f"delete:{vm.name}",
        f"server {vm.server_id} of VM {vm.name} is still there after {vm.deletes} delete calls: {text}",
    )


def retry(draft: Draft, vm: Vm) -> None:
    """Send the call again that a closing VM waits for, when its time has come."""
    if vm.retry_at is None or vm.retry_at > draft.now:
        return
    if vm.phase is Phase.CLOSING:
        deregister(draft, vm)
    elif vm.phase is Phase.DELETING and vm.server_id:
        if vm.deletes >= STUBBORN:
            _undeletable(draft, vm, "the cloud takes the call and does not carry it out")
        draft.emit(CheckServer(vm.name, vm.server_id))
        delete(draft, vm)
