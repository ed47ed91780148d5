"""What the cloud shows of our servers, and what follows from it for each VM."""

from dataclasses import replace

from shadow_autoscaler.core import creation, reclaim, sweep
from shadow_autoscaler.core.closing import delete_dead, gone
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import ServerCreated, ServerGone, ServersListed
from shadow_autoscaler.core.intents import CheckServer
from shadow_autoscaler.core.machines import Phase, Server, ServerStatus, Vm

LIST_LAG_S = 60.0
"""How long after its creation a server may be missing from a list."""
DEAD = frozenset({ServerStatus.ERROR, ServerStatus.STOPPED, ServerStatus.DELETING})


def on_created(draft: Draft, event: ServerCreated) -> None:
    """Nova took the create call, or the server was found again."""
    vm = draft.vm(event.vm)
    if vm is None:
        sweep.unknown_server(draft, event.server)
        return
    recorded = creation.record(draft, vm, event.server)
    if recorded is not None:
        observe(draft, recorded, event.server)


def on_gone(draft: Draft, event: ServerGone) -> None:
    """The cloud answers 404: only this proves that a server is gone."""
    vm = draft.vm(event.vm)
    if vm is None or not vm.server_id or event.server_id not in {"", vm.server_id}:
        return
    if vm.phase < Phase.DELETING:
        vm = reclaim.lost(draft, vm, "the cloud does not know its server any more (404)")
    gone(draft, vm)


def on_listed(draft: Draft, event: ServersListed) -> None:
    """Look at each listed server; what a complete list lacks is asked for by its ID."""
    listed: set[str] = set()
    for server in event.servers:
        listed.add(server.server_id)
        _look(draft, server)
    if event.complete:
        sweep.forget_listed(draft, "server:", {f"server:{one}" for one in listed})
        names = {server.marks.get("vm") or server.name for server in event.servers}
        sweep.forget_listed(draft, "orphan:", {f"orphan:{name}" for name in names})
        if event.asked_at <= draft.now:  # else asked under a clock that was set back meanwhile
            _missing(draft, listed, event.asked_at)


def _look(draft: Draft, server: Server) -> None:
    vm = draft.vm(server.marks.get("vm") or server.name)
    if vm is None or not vm.live:
        sweep.unknown_server(draft, server)
        return
    recorded = creation.record(draft, vm, server)
    if recorded is not None:
        observe(draft, recorded, server)


def observe(draft: Draft, vm: Vm, server: Server) -> None:
    """Take in what the cloud says about a live VM's server."""
    vm = _facts(draft, vm, server)
    if vm.phase >= Phase.DELETING:
        return
    if server.status is ServerStatus.ACTIVE and vm.phase is Phase.BUILDING:
        draft.put_vm(replace(vm, phase=Phase.BOOTING, active_at=draft.now))
    elif server.status is ServerStatus.ERROR and vm.phase is Phase.BUILDING:
        creation.errored(draft, vm, server)
    elif server.status in DEAD:
        what = f"its server is {server.raw_status}{': ' if server.fault else ''}{server.fault}"
        delete_dead(draft, reclaim.lost(draft, vm, what))


def _facts(draft: Draft, vm: Vm, server: Server) -> Vm:
    fresh = replace(
        vm,
        host=server.host or vm.host,
        zone=server.zone or vm.zone,
        addresses=server.addresses or vm.addresses,
    )
    return vm if fresh == vm else draft.put_vm(fresh)


def _missing(draft: Draft, listed: set[str], asked_at: float) -> None:
    vms = tuple(draft.all_live())
    told = bool(listed) or not any(vm.server_id for vm in vms)
    for vm in vms:
        if not vm.server_id:
            _unborn(draft, vm, asked_at, told=told)
        elif vm.server_id not in listed and (vm.phase is Phase.DELETING or _is_old(vm, asked_at)):
            draft.emit(CheckServer(vm.name, vm.server_id))


def _is_old(vm: Vm, asked_at: float) -> bool:
    return asked_at > (vm.created_at or 0.0) + LIST_LAG_S


def _unborn(draft: Draft, vm: Vm, asked_at: float, *, told: bool) -> None:
    given_up = vm.ended_at or 0.0
    if told and vm.phase is Phase.DELETING and asked_at > given_up + LIST_LAG_S:
        gone(draft, vm)
