"""The VM protocol, apart from HTTP: who may ask, and what is answered."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shadow_autoscaler.core.events import ConfigAsked
from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.core.machines import Phase, Vm
from shadow_autoscaler.edge.budget import Budget
from shadow_autoscaler.ports import Delivery, LeaseLostError, Registration, Secrets
from shadow_autoscaler.runtime import tickets, vm_events
from shadow_autoscaler.runtime.engine import Engine
from shadow_autoscaler.runtime.handover import Handover

if TYPE_CHECKING:
    from concurrent.futures import Future

RETRY_S = 5
WAIT_S = 20.0
"""How long a request for a configuration is held before the VM is told to ask again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the VM gets."""

    status: int
    body: Mapping[str, object] | None = field(default=None, repr=False)
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls."""

    vm: str
    authorization: str = field(repr=False)
    """The header as it came."""
    address: str = ""


def error(status: int, text: str, remedy: str) -> Reply:
    """Return a refusal that says what to do."""
    return Reply(status, {"error": text, "remedy": remedy})


_DENIED = error(401, "the ticket is not this VM's", "use the ticket from the VM's own user-data")
_LATER = Reply(202, {"error": "not yet", "remedy": f"ask again in {RETRY_S} s"}, RETRY_S)
_GONE = error(410, "there is no work for this VM any more", "stop the runner and wait to be deleted")
_OTHER = error(409, "another server has this VM's name", "stop the runner and wait to be deleted")
_STANDBY = Reply(503, {"error": "another process decides", "remedy": "ask again in 2 s"}, 2)


class Callbacks:
    """Answers VMs."""

    def __init__(
        self,
        engine: Engine,
        handover: Handover,
        secrets: Secrets,
        key: str,
        *,
        bind_address: bool = False,
        budget: Budget | None = None,
    ) -> None:
        self._engine, self._handover, self._secrets = engine, handover, secrets
        self._key, self._bind_address = key, bind_address
        self._budget = budget or Budget(engine.steady)

    def report(self, caller: Caller, name: str, body: bytes) -> Delivery | Reply:
        """Return the report as a delivery for the inbox, or a refusal."""
        if turned_away := self._turned_away(caller, name):
            return turned_away
        try:
            vm_events.event_of(caller.vm, name, body)
            refusal = self._refusal(caller, vm_events.server_id(body))
        except vm_events.UnreadableError as fault:
            return error(
                400, f"the body is wrong: {fault}", "send what the boot scripts of this version send"
            )
        except LeaseLostError:
            refusal = None  # the process that decides looks again
        wrapped = vm_events.wrap(caller.vm, body)
        digest = hashlib.sha256(name.encode() + wrapped).hexdigest()
        return refusal or Delivery(f"vm-{digest}", "vm", name, wrapped, self._engine.clock())

    def config(self, caller: Caller, body: bytes) -> "Reply | Future[Registration | None]":
        """Begin to answer a request for a configuration: a refusal, or what comes from the forge."""
        if turned_away := self._turned_away(caller, vm_events.CONFIG):
            return turned_away
        try:
            refusal = self._refusal(caller, vm_events.server_id(body)) or self._unready(caller.vm)
            return refusal or self._ask(caller.vm)
        except vm_events.UnreadableError as fault:
            return error(400, f"the body is wrong: {fault}", 'send {"server_id": …}')
        except LeaseLostError:
            return _STANDBY

    def answer(self, vm: str, registration: Registration | None) -> Reply:
        """Return what the VM gets once the forge has answered, or did not."""
        if registration is not None:
            return Reply(200, {**registration.config, "runner_name": registration.runner_name})
        try:
            known = self._vm(vm)
        except LeaseLostError:
            return _STANDBY
        return _GONE if known is None or known.phase >= Phase.CLOSING else _LATER

    def give_up(self, vm: str, future: "Future[Registration | None]") -> Reply:
        """End a request that was held long enough."""
        return self.answer(vm, self._handover.withdraw(vm, future))

    def _ask(self, vm: str) -> "Reply | Future[Registration | None]":
        future = self._handover.ask(vm)
        if not future.done():
            self._engine.handle(ConfigAsked(vm))
            known = self._vm(vm)
            if known is None or known.phase >= Phase.CLOSING:
                return self.give_up(vm, future)
        return future

    def _turned_away(self, caller: Caller, kind: str) -> Reply | None:
        if not self._authentic(caller):
            return _DENIED
        wait_s = self._budget.spend(caller.vm, kind)
        if not wait_s:
            return None
        body = {"error": f"VM {caller.vm} calls too often", "remedy": f"call again in {wait_s} s"}
        return Reply(429, body, wait_s)

    def _authentic(self, caller: Caller) -> bool:
        scheme, _, ticket = caller.authorization.partition(" ")
        if scheme.lower() != "bearer" or not ticket:
            return False
        try:
            keys = self._secrets.get(self._key)
        except PortError:
            return False
        return tickets.valid(keys, caller.vm, ticket.strip())

    def _refusal(self, caller: Caller, server_id: str) -> Reply | None:
        vm = self._vm(caller.vm)
        if vm is None:
            return error(404, f"VM {caller.vm} is not known here", "stop the runner and wait to be deleted")
        if vm.server_id and vm.server_id != server_id:
            return _OTHER
        if self._bind_address and vm.addresses and caller.address not in vm.addresses:
            return error(
                409, f"{caller.address} is not an address of this VM", "call from the VM's own network"
            )
        return None

    def _unready(self, name: str) -> Reply | None:
        vm = self._vm(name)
        if vm is None or vm.phase >= Phase.CLOSING:
            return _GONE
        if vm.phase is Phase.BUSY:
            return error(410, "its configuration is used up: a job runs on it", "wait for the job's end")
        return None if vm.server_id else _LATER

    def _vm(self, name: str) -> Vm | None:
        return self._engine.read(lambda state: state.vms.get(name))
