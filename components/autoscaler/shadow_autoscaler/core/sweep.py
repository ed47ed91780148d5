"""What nobody owns any more, in both directions: looked at twice, `sweep_grace_s` apart, before it goes.

A server or leftover is ours by its mark, which the cloud's adapter has checked. A registration has no mark,
so it is ours only by a name that this very store can have made: its VM is known, or it has our generation.
"""

from dataclasses import replace

from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import LeftoverRemoved, LeftoversListed, Runner, RunnersListed
from shadow_autoscaler.core.intents import DeleteServer, RemoveLeftover, RemoveRunner
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.leftovers import Leftover
from shadow_autoscaler.core.machines import Server, Vm
from shadow_autoscaler.core.names import ours, vm_of_runner
from shadow_autoscaler.core.state import Suspect

LEAK_S = 3600.0
"""How long a server of nobody's may outlive its deletion before the operator is told."""
BUSY_S = 900.0
"""How long a forge's word that an unknown VM's runner is busy keeps its server."""


def _twice(draft: Draft, what: str) -> bool:
    """Whether this is the second look, long enough after the first; the next removal is as far away."""
    known = draft.suspect(what)
    if known is None:
        draft.suspects[what] = Suspect(what, draft.now)
        return False
    if draft.now - known.since < draft.deployment.sweep_grace_s:
        return False
    draft.suspects[what] = replace(known, since=draft.now)
    return True


def surplus_server(draft: Draft, vm: Vm, server: Server) -> None:
    """A second server of one VM goes at once; the next call, if one is needed, is `sweep_grace_s` away."""
    what = f"server:{server.server_id}"
    known = draft.suspect(what)
    if known is None or draft.now - known.since >= draft.deployment.sweep_grace_s:
        draft.suspects[what] = Suspect(what, draft.now)
        draft.emit(DeleteServer(vm.name, server.server_id))
        draft.note(vm.name, f"server {server.server_id} is one too many")


def forget_listed(draft: Draft, prefix: str, still: set[str]) -> None:
    """Clear suspects that a complete list does not show any more."""
    for what in tuple(draft.state.suspects):
        if what.startswith(prefix) and what not in still:
            draft.suspects[what] = None
            if prefix == "orphan:":
                draft.calm(f"leak:{what.removeprefix(prefix)}")


def unknown_server(draft: Draft, server: Server) -> None:
    """A server with our mark that no live VM stands for; one that hangs in deletion is deleted again."""
    name = server.marks.get("vm") or server.name
    orphan = draft.suspect(f"orphan:{name}") or Suspect(f"orphan:{name}", draft.now)
    busy = draft.suspect(f"busy:{name}")
    kept = busy is not None and draft.now - busy.since < BUSY_S
    draft.suspects[orphan.what] = replace(orphan, since=draft.now) if kept else orphan
    if kept:
        return
    _tell_leak(draft, name, server, orphan.since)
    if not _runners_told(draft, server):
        return
    if _twice(draft, f"server:{server.server_id}"):
        draft.emit(DeleteServer(name, server.server_id))
        draft.note(name, f"server {server.server_id} has our mark and no VM: deleted")


def _tell_leak(draft: Draft, name: str, server: Server, since: float) -> None:
    if draft.now - since >= LEAK_S:
        draft.alarm(
            f"leak:{name}",
            f"server {server.server_id} ({server.raw_status}) has our mark, no VM, and is there after "
            f"{LEAK_S / 60:.0f} min of deletions; see `openstack server show {server.server_id}`",
        )


def _runners_told(draft: Draft, server: Server) -> bool:
    """Whether the server's forge has listed its runners since the server was first seen to be nobody's."""
    first = draft.suspect(f"server:{server.server_id}")
    pool = draft.deployment.pool(server.marks.get("pool", ""))
    if first is None or pool is None:
        return True
    told = draft.suspect(f"listed:{pool.forge}")
    return told is not None and told.since >= first.since


def on_runners(draft: Draft, event: RunnersListed) -> None:
    """Remove registrations whose VM is gone or has another registration by now."""
    still: set[str] = set()
    for runner in event.runners:
        what = f"runner:{event.forge}:{runner.system_id or runner.runner_id}"
        _keep_server(draft, runner)
        if runner.busy or not _needless(draft, runner):
            continue
        still.add(what)
        if _twice(draft, what):
            draft.emit(RemoveRunner(ForgeKind(event.forge), runner.runner_id, runner.name, runner.system_id))
            draft.note(runner.name, "registration without a VM: removed")
    if event.complete:
        forget_listed(draft, f"runner:{event.forge}:", still)
        if any(what.startswith("orphan:") for what in draft.state.suspects):
            draft.suspects[f"listed:{event.forge}"] = Suspect(f"listed:{event.forge}", draft.now)


def _keep_server(draft: Draft, runner: Runner) -> None:
    """A server that nobody owns stays while a job runs on it, and until its registration is removed.

    After the loss of the store such servers work for jobs of the time before, under names that it never made.
    """
    name = vm_of_runner(runner.name)
    vm = draft.vm(name)
    orphan = draft.suspect(f"orphan:{name}") is not None
    if (vm is None or not vm.live) and (runner.busy or orphan):
        draft.suspects[f"busy:{name}"] = Suspect(f"busy:{name}", draft.now)


def _needless(draft: Draft, runner: Runner) -> bool:
    name = vm_of_runner(runner.name)
    vm = draft.vm(name)
    if vm is None:
        known = draft.suspect(f"orphan:{name}") is not None
        return known or ours(draft.deployment, draft.state.counters, name)
    return not vm.live or (vm.runner_name != runner.name and vm.asked_at is None)


def on_leftovers(draft: Draft, event: LeftoversListed) -> None:
    """Remove ports, volumes and addresses that outlived their server."""
    still: set[str] = set()
    for leftover in sorted(event.leftovers, key=_order):
        vm = draft.vm(leftover.vm)
        if vm is not None and vm.live:
            continue
        what = _name(leftover)
        still.add(what)
        if _twice(draft, what):
            draft.emit(RemoveLeftover(leftover))
    if event.complete:
        forget_listed(draft, "leftover:", still)


def _order(leftover: Leftover) -> tuple[int, str]:
    return list(type(leftover.kind)).index(leftover.kind), leftover.leftover_id


def _name(leftover: Leftover) -> str:
    return f"leftover:{leftover.kind}:{leftover.leftover_id}"


def on_leftover_removed(draft: Draft, event: LeftoverRemoved) -> None:
    """A leftover is gone, or stays suspect."""
    what = _name(event.leftover)
    if event.fault:
        draft.note(event.leftover.vm, f"{what} cannot be removed: {event.fault}")
    elif draft.suspect(what) is not None:
        draft.suspects[what] = None
        draft.note(event.leftover.vm, f"{what} removed")
