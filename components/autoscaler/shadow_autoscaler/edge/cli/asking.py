"""`drain` and `reap`: requests to the process that decides, left in its inbox."""

import argparse
import sys
import time
from dataclasses import asdict

from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Server
from shadow_autoscaler.core.names import runner_name
from shadow_autoscaler.core.state import State
from shadow_autoscaler.edge import adapters
from shadow_autoscaler.edge.cli.codes import CommandError, Exit
from shadow_autoscaler.edge.cli.opening import base, emit, state
from shadow_autoscaler.edge.wiring import Base
from shadow_autoscaler.ports import Delivery
from shadow_autoscaler.runtime import operators


def drain(options: argparse.Namespace) -> int:
    """Take a pool or VM out of use, or put a pool back into use."""
    with base(options) as opened:
        pools = {pool.name for pool in opened.config.pools}
        name, now = options.name, time.time()
        if name in pools:
            request = operators.drain(name, "", now, on=not options.off)
        elif name in opened.store.load().vms and not options.off:
            request = operators.drain("", name, now, on=True)
        elif options.off:
            raise CommandError(Exit.NOT_FOUND, f"no pool {name!r}; there are {', '.join(sorted(pools))}")
        else:
            text = f"no pool and no VM {name!r}; pools are {', '.join(sorted(pools))}, and `status` shows VMs"
            raise CommandError(Exit.NOT_FOUND, text)
        action = "goes back into use" if options.off else "is drained"
        return _ask(opened, request, f"{name} {action}", as_json=options.json)


def reap(options: argparse.Namespace) -> int:
    """Have everything looked at now, or show what is left over."""
    with base(options) as opened:
        if options.dry_run:
            return _show(opened, as_json=options.json)
        text = "cloud and forges are looked at now; what is left over goes after the second look"
        return _ask(opened, operators.reap(time.time()), text, as_json=options.json)


def _ask(opened: Base, request: Delivery, text: str, *, as_json: bool) -> int:
    opened.store.accept([request])
    if as_json:
        emit({"asked": request.event, "delivery_id": request.delivery_id})
    else:
        sys.stdout.write(f"{text}, as soon as the server reads this (within seconds; `status` shows it)\n")
    return Exit.OK


def _show(opened: Base, *, as_json: bool) -> int:
    known, _, _ = state(opened)
    cloud = adapters.cloud(opened.config)
    forges = adapters.forges(opened.config, opened.secrets, lambda: _registrations(known))
    servers = [server for server in cloud.servers() if not _live(known, server)]
    leftovers = cloud.leftovers()
    runners = [
        (kind, runner.name)
        for kind, forge in forges.items()
        for runner in forge.runners()
        if not _has_vm(known, kind, runner.name)
    ]
    if as_json:
        plain = [asdict(leftover) for leftover in leftovers]
        emit({"servers": [s.name for s in servers], "leftovers": plain, "runners": runners})
        return Exit.OK
    lines = [f"server {server.name} {server.server_id} {server.raw_status}" for server in servers]
    lines += [f"{item.kind.value} {item.leftover_id} of {item.vm}" for item in leftovers]
    lines += [f"runner {name} at {kind.value}" for kind, name in runners]
    sys.stdout.write("\n".join(lines or ["nothing is left over"]) + "\n")
    return Exit.OK


def _live(known: State, server: Server) -> bool:
    vm = known.vms.get(server.marks.get("vm", ""))
    return vm is not None and vm.live


def _has_vm(known: State, _kind: ForgeKind, name: str) -> bool:
    return any(vm.live and name in {vm.runner_name, vm.name} for vm in known.vms.values())


def _registrations(known: State) -> list[str]:
    return [
        runner_name(vm.name, number) for vm in known.vms.values() for number in range(1, vm.registrations + 1)
    ]
