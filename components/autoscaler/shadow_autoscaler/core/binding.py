"""Which VM is meant for which job. A forge gives a job to any idle runner that fits, so they are swapped."""

from dataclasses import replace

from shadow_autoscaler.core.breaker import proved
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.jobs import Job, JobStatus
from shadow_autoscaler.core.machines import Phase, Vm
from shadow_autoscaler.core.names import vm_of_runner


def is_free(vm: Vm) -> bool:
    """Whether the VM can still take any job of its pool."""
    return vm.job is None and vm.phase <= Phase.READY


def bind(draft: Draft, job: Job, vm: Vm) -> None:
    """Mean a VM for a waiting job."""
    draft.put_job(replace(job, vm=vm.name))
    draft.put_vm(replace(vm, job=job.key))


def release(draft: Draft, name: str, job: Job) -> None:
    """The VM is not needed for the job any more; another job may have it."""
    vm = draft.vm(name)
    if vm is not None and vm.job == job.key and vm.phase <= Phase.READY:
        draft.put_vm(replace(vm, job=None))
        draft.released[name] = None


def runner_vm(draft: Draft, runner_name: str) -> Vm | None:
    """Return the VM whose registration has that name."""
    return draft.vm(vm_of_runner(runner_name))


def attach(draft: Draft, job: Job, vm: Vm) -> Vm:
    """The forge says that the job runs on the VM, whatever we meant; the other job gets the other VM."""
    other = draft.job(vm.job) if vm.job != job.key else None
    former = job.vm if job.vm != vm.name else ""
    vm = draft.put_vm(
        replace(
            vm,
            job=job.key,
            phase=max(vm.phase, Phase.BUSY),
            busy_at=draft.now if vm.busy_at is None else vm.busy_at,
            busy_seen_s=draft.seen_s if vm.busy_at is None else vm.busy_seen_s,
            asked_at=None,
        )
    )
    draft.put_job(replace(job, vm=vm.name))
    proved(draft, vm.pool)
    if former:
        release(draft, former, job)
    if other is not None and other.vm == vm.name and other.status is not JobStatus.DONE:
        _give_other(draft, other, draft.vm(former))
    return vm


def _give_other(draft: Draft, other: Job, vm: Vm | None) -> None:
    other = draft.put_job(replace(other, vm=""))
    if other.status is JobStatus.QUEUED and vm is not None and is_free(vm) and vm.pool == other.pool:
        bind(draft, other, vm)
