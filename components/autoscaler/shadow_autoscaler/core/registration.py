"""From the boot script's reports to a runner configuration in the VM's hands."""

from dataclasses import replace

from shadow_autoscaler.core import closing
from shadow_autoscaler.core.binding import is_free
from shadow_autoscaler.core.breaker import boot_failed, break_pool, hold
from shadow_autoscaler.core.closing import close, deregister
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import (
    ConfigAsked,
    Deregistered,
    Registered,
    RegisterFailed,
    Removal,
    VmReported,
)
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.intents import CheckJob, Deregister, Register, RemoveRunner
from shadow_autoscaler.core.jobs import JobStatus
from shadow_autoscaler.core.machines import Cause, Phase, Vm
from shadow_autoscaler.core.names import runner_name
from shadow_autoscaler.core.windows import wanted

MAX_REGISTRATIONS = 20
"""Configurations minted for one VM, those that the forge refused for a while included."""
NOTED = 10
"""Failed phases that are noted of a VM; a job that is root may report any number."""
FRESH_S = 30.0
"""How long the forge's word that a job waits is good for at the hand-over."""


def on_report(draft: Draft, event: VmReported) -> None:
    """A VM's boot script tells how far it is."""
    vm = draft.vm(event.vm)
    if vm is None or not vm.server_id or vm.phase >= Phase.DELETING:
        return
    if event.phase == "ended":
        _ended(draft, vm, event)
    elif event.status == "failed":
        _failed(draft, vm, event)
    elif vm.phase in {Phase.BUILDING, Phase.BOOTING}:
        _progress(draft, vm, event)


def _progress(draft: Draft, vm: Vm, event: VmReported) -> None:
    healthy = draft.now if event.phase == "healthy" and vm.healthy_at is None else vm.healthy_at
    detail = f"{event.phase} {event.status}{': ' if event.reason else ''}{event.reason}"[:300]
    active = draft.now if vm.active_at is None else vm.active_at
    draft.put_vm(replace(vm, phase=Phase.BOOTING, active_at=active, healthy_at=healthy, detail=detail))


def _failed(draft: Draft, vm: Vm, event: VmReported) -> None:
    if event.phase in vm.complaints or len(vm.complaints) >= NOTED:
        return
    vm = draft.put_vm(replace(vm, complaints=(*vm.complaints, event.phase)))
    if vm.phase >= Phase.BUSY:
        draft.note(vm.name, f"reports {event.phase} failed: {event.reason}")
        return
    cause = Cause.GPU_UNHEALTHY if event.phase.startswith("gpu") else Cause.BOOT_FAILED
    boot_failed(draft, vm, cause, f"{event.phase}: {event.reason}")


def _ended(draft: Draft, vm: Vm, event: VmReported) -> None:
    """The runner has ended: the VM takes no second job, so it goes, and the forge is asked about its job."""
    if vm.runner_ended_at is not None:
        return
    vm = draft.put_vm(replace(vm, runner_ended_at=draft.now))
    job = draft.job(vm.job)
    if job is not None and job.status is not JobStatus.DONE:
        draft.emit(CheckJob(job.key))
    if vm.phase is Phase.CLOSING and vm.runner_name:
        deregister(draft, vm)
    elif vm.phase is Phase.BUSY:
        close(draft, vm, Cause.JOB_DONE)
    elif event.status == "failed":
        boot_failed(draft, vm, Cause.BOOT_FAILED, f"the runner ended without a job: {event.reason}")
    else:
        close(draft, vm, Cause.JOB_DONE, "the runner ended; which job it ran is not known")


def on_config_asked(draft: Draft, event: ConfigAsked) -> None:
    """A VM with a good GPU wants its configuration: mint one now, if there is work for it."""
    vm = draft.vm(event.vm)
    if vm is None or not vm.server_id or vm.phase > Phase.READY:
        return
    vm = draft.put_vm(
        replace(
            vm,
            phase=max(vm.phase, Phase.REGISTERING),
            active_at=draft.now if vm.active_at is None else vm.active_at,
            healthy_at=draft.now if vm.healthy_at is None else vm.healthy_at,
        )
    )
    if not _is_wanted(draft, vm):
        close(draft, vm, Cause.JOB_GONE, "no job waits for it")
    elif not vm.runner_name:
        _mint(draft, vm)
    elif vm.asked_at is None:
        # Asked again without having come online: the former registration goes first.
        deregister(draft, draft.put_vm(replace(vm, asked_at=draft.now)))


def _is_wanted(draft: Draft, vm: Vm) -> bool:
    """Whether a job or the wish for warm VMs stands behind the VM."""
    job = draft.job(vm.job)
    if job is not None:
        return job.status is not JobStatus.DONE
    pool = draft.pool_of(vm)
    if pool is None or draft.pool_state(pool.name).drained:
        return False
    if next(draft.unserved(pool.name), None) is not None:
        return True
    return sum(is_free(one) for one in draft.live(pool.name)) <= wanted(pool, draft.now)


def _mint(draft: Draft, vm: Vm) -> None:
    if vm.registrations >= MAX_REGISTRATIONS:
        boot_failed(
            draft, vm, Cause.REGISTRATION, f"{vm.registrations} configurations did not bring it online"
        )
        return
    number = vm.registrations + 1
    name = runner_name(vm.name, number)
    draft.put_vm(
        replace(
            vm,
            registrations=number,
            runner_name=name,
            runner_id=None,
            ready_at=None,
            retry_at=None,
            asked_at=draft.now if vm.asked_at is None else vm.asked_at,
        )
    )
    draft.emit(Register(vm.name, name))
    _still_queued(draft, vm)


def _still_queued(draft: Draft, vm: Vm) -> None:
    """Ask whether the job still waits, beside the minting: no answer holds nothing up."""
    job = draft.job(vm.job)
    if job is not None and draft.now - max(job.checked_at, job.seen_at) > FRESH_S:
        draft.emit(CheckJob(job.key))


def on_registered(draft: Draft, event: Registered) -> None:
    """The forge made a registration: it belongs to the VM, or it is one too many."""
    vm = draft.vm(event.vm)
    if vm is None:
        return
    if event.runner_name != vm.runner_name:
        _remove_extra(draft, vm, event)
    elif vm.phase >= Phase.CLOSING:
        draft.emit(Deregister(vm.name, event.runner_name, event.runner_id))
        draft.put_vm(replace(vm, runner_id=event.runner_id))
    elif vm.asked_at is not None:
        draft.calm("forge:auth")
        ready = replace(vm, runner_id=event.runner_id, asked_at=None, retry_at=None, ready_at=draft.now)
        draft.put_vm(replace(ready, phase=max(vm.phase, Phase.READY)))


def _remove_extra(draft: Draft, vm: Vm, event: Registered) -> None:
    pool = draft.pool_of(vm)
    if pool is not None and event.runner_id is not None:
        draft.emit(RemoveRunner(pool.forge, event.runner_id, event.runner_name))


def on_register_failed(draft: Draft, event: RegisterFailed) -> None:
    """The forge made no registration, as far as we know; the VM asks again or goes."""
    vm = draft.vm(event.vm)
    if vm is None or not vm.runner_name or vm.asked_at is None or vm.phase > Phase.READY:
        return
    kind = event.failure.kind
    if kind in {FailureKind.UNKNOWN_OUTCOME, FailureKind.CONFLICT}:
        # A ghost may have the name: it goes first, then another name is minted.
        deregister(draft, vm)
    elif kind in {FailureKind.CONFIG, FailureKind.REFUSED}:
        _refused(draft, vm, event.failure)
    else:
        _later(draft, vm, event.failure)


def _refused(draft: Draft, vm: Vm, failure: Failure) -> None:
    pool = draft.pool_of(vm)
    if pool is not None and failure.kind is FailureKind.CONFIG:
        break_pool(draft, pool.name, failure.text)
    elif pool is not None:
        hold(draft, pool, f"the forge refuses to register its runners: {failure.text}")
    close(draft, draft.put_vm(replace(vm, runner_name="")), Cause.REGISTRATION, failure.text)


def _later(draft: Draft, vm: Vm, failure: Failure) -> None:
    if failure.kind is FailureKind.AUTH:
        draft.alarm("forge:auth", f"the forge refuses our credential: {failure.text}")
    # The name may be in use after all, so the next try has another one.
    draft.put_vm(replace(vm, runner_name="", asked_at=None, detail=failure.text))


def on_deregistered(draft: Draft, event: Deregistered) -> None:
    """A registration is removed, or busy: for a VM that asked again, the next one is minted."""
    vm = draft.vm(event.vm)
    if vm is None or vm.asked_at is None or vm.phase >= Phase.CLOSING:
        closing.on_deregistered(draft, event)
        return
    if event.outcome is Removal.BUSY:
        draft.put_vm(replace(vm, asked_at=None, retry_at=None))
        return
    _mint(draft, draft.put_vm(replace(vm, runner_name="", runner_id=None, removals=0)))
