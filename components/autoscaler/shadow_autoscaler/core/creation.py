"""From the create call to a server: what became of it, and which failure asks for what.

| failure | what follows |
|---|---|
| capacity | the flavor (in its zone) is left out for `cooldown_s`, the job takes the next rung |
| quota | the pool pauses and the job waits; never another rung |
| config, refused | the pool is broken until its configuration changes; no other rung, no on-demand spend |
| auth, throttled | the pool pauses, then the same call again, as long as the job waits |
| transient, conflict, unknown outcome | after a look for the VM's mark the same call again, later and later |
"""

from dataclasses import replace

from shadow_autoscaler.core import sweep
from shadow_autoscaler.core.breaker import boot_failed, break_pool, charge, pause, unpause
from shadow_autoscaler.core.closing import backoff, close, delete, end, gone
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import CreateFailed, CreateSent
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.intents import CreateServer
from shadow_autoscaler.core.ladder import cool_down
from shadow_autoscaler.core.machines import Cause, Market, Phase, Server, Vm

MAX_CREATES = 10
"""Create calls for one VM that may fail without a reason that tells what to do."""


def on_sent(draft: Draft, event: CreateSent) -> None:
    """The create call leaves: from now on a server may exist."""
    vm = draft.vm(event.vm)
    if vm is not None and vm.phase is Phase.PLANNED and vm.sent_at is None:
        draft.put_vm(replace(vm, sent_at=draft.now))


def record(draft: Draft, vm: Vm, server: Server) -> Vm | None:
    """Take in that a server exists for the VM; None where it is one too many and is being deleted."""
    if vm.phase is Phase.GONE or vm.server_id not in {"", server.server_id}:
        sweep.surplus_server(draft, vm, server)
        return None
    if vm.server_id:
        return vm
    unpause(draft, vm.pool)
    draft.calm("cloud:auth")
    vm = replace(
        vm,
        server_id=server.server_id,
        created_at=min(draft.now, max(server.created_at, vm.planned_at)),
        retry_at=None,
        phase=max(vm.phase, Phase.BUILDING),
    )
    draft.put_vm(vm)
    draft.note(vm.name, f"server {server.server_id} accepted")
    if vm.phase is Phase.DELETING:
        delete(draft, vm)
    return draft.vm(vm.name)


def on_failed(draft: Draft, event: CreateFailed) -> None:
    """The create call failed and no server exists."""
    vm = draft.vm(event.vm)
    if vm is None or vm.server_id or not vm.live:
        return
    if vm.phase is Phase.DELETING:
        if event.failure.kind is not FailureKind.UNKNOWN_OUTCOME:
            gone(draft, vm)
        return
    if vm.retry_at is not None and vm.retry_at > draft.now:
        return
    cause = refused(draft, vm, event.failure)
    if cause is None:
        _again(draft, vm, event.failure)
    else:
        gone(draft, end(draft, vm, cause, event.failure.text))


def refused(draft: Draft, vm: Vm, failure: Failure) -> Cause | None:
    """Do for the pool what the failure asks for; None where the VM itself may be tried again."""
    if failure.kind is FailureKind.CAPACITY:
        cool_down(draft, vm)
        return Cause.SPOT_CAPACITY if vm.market is Market.SPOT else Cause.CAPACITY
    if failure.kind is FailureKind.QUOTA:
        pause(draft, vm.pool, f"quota{' of ' if failure.resource else ''}{failure.resource}", failure)
        return Cause.QUOTA
    if failure.kind in {FailureKind.CONFIG, FailureKind.REFUSED}:
        break_pool(draft, vm.pool, failure.text)
        return Cause.CONFIG
    return None


def _again(draft: Draft, vm: Vm, failure: Failure) -> None:
    if failure.kind is FailureKind.AUTH:
        draft.alarm("cloud:auth", f"the cloud refuses our credential: {failure.text}")
    patient = failure.kind in {FailureKind.AUTH, FailureKind.THROTTLED}
    creates = vm.creates + (0 if patient else 1)
    if creates > MAX_CREATES:
        _give_up(draft, vm, failure)
        return
    if patient:
        until = pause(draft, vm.pool, f"create call failed ({failure.kind})", failure)
    else:
        until = draft.now + (failure.retry_after_s or backoff(vm.creates, 5.0))
    draft.put_vm(replace(vm, creates=creates, detail=failure.text, retry_at=until))


def _give_up(draft: Draft, vm: Vm, failure: Failure) -> None:
    detail = f"{MAX_CREATES} create calls have failed: {failure.text}"
    if failure.kind is FailureKind.UNKNOWN_OUTCOME:
        boot_failed(draft, vm, Cause.BOOT_FAILED, detail)
        return
    charge(draft, vm, detail)
    gone(draft, end(draft, vm, Cause.BOOT_FAILED, detail))


def errored(draft: Draft, vm: Vm, server: Server) -> None:
    """Nova took the call and the server came out as ERROR: as a refusal, only that it has to be deleted."""
    text = server.fault or server.raw_status
    failure = server.failure or Failure(FailureKind.TRANSIENT, text)
    cause = refused(draft, vm, failure)
    if cause is None:
        boot_failed(draft, vm, Cause.BOOT_FAILED, f"server in ERROR: {text}")
    else:
        close(draft, vm, cause, text)


def retry(draft: Draft, vm: Vm) -> None:
    """Send a create call again whose time has come."""
    if vm.phase is Phase.PLANNED and vm.retry_at is not None and vm.retry_at <= draft.now:
        draft.put_vm(replace(vm, retry_at=None, sent_at=draft.now))
        draft.emit(CreateServer(vm.name, again=True))
