"""Carries out intents at the cloud."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from shadow_autoscaler.core.events import (
    CreateFailed,
    CreateSent,
    DeleteFailed,
    LeftoverRemoved,
    ServerCreated,
    ServerGone,
    ServersListed,
)
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.intents import CheckServer, CreateServer, DeleteServer, RemoveLeftover
from shadow_autoscaler.core.machines import Server, Vm
from shadow_autoscaler.ports import Cloud, ServerSpec
from shadow_autoscaler.runtime.engine import Engine
from shadow_autoscaler.runtime.outcomes import Done, Later, Outcome, backoff, patience

_log = logging.getLogger(__name__)
_TRIES = 5
"""Looks at a missing server in vain after which its question is dropped: each list asks it anew."""


@dataclass(frozen=True, slots=True)
class CloudHands:
    """Creates and deletes servers, and removes what they leave behind."""

    engine: Engine
    cloud: Cloud
    user_data: Callable[[Vm], str]
    """Renders a VM's user-data."""
    keep_console: Callable[[str, str], None]
    """Keeps a VM's console log."""

    def create(self, intent: CreateServer) -> Outcome:
        """Ask for the VM's server, once; where it may exist already, look for its mark first."""
        if intent.again:
            try:
                found = self.cloud.servers(intent.vm)
            except PortError as error:
                unknown = replace(error.failure, kind=FailureKind.UNKNOWN_OUTCOME)
                return Done(CreateFailed(intent.vm, unknown))
            if found:
                return Done(ServerCreated(intent.vm, _oldest(found)))
        self.engine.handle(CreateSent(intent.vm))
        vm = self.engine.read(lambda state: state.vms[intent.vm] if state.may_create(intent.vm) else None)
        if vm is None:
            return Done(CreateFailed(intent.vm, Failure(FailureKind.CONFLICT, "no longer wanted")))
        return self._send(vm)

    def check(self, intent: CheckServer, attempts: int) -> Outcome:
        """Ask about one server."""
        asked_at = self.engine.now()
        try:
            server = self.cloud.server(intent.server_id)
        except PortError as error:
            if attempts + 1 >= _TRIES:
                return Done()  # the next list asks again
            return Later(patience(error.failure) or backoff(attempts), error.failure)
        if server is None:
            return Done(ServerGone(intent.vm, intent.server_id))
        return Done(ServersListed((server,), complete=False, asked_at=asked_at))

    def delete(self, intent: DeleteServer) -> Outcome:
        """Ask for the server's deletion and look whether it is gone already."""
        if intent.keep_console:
            self._save_console(intent)
        try:
            self.cloud.delete(intent.server_id)
        except PortError as error:
            return Done(DeleteFailed(intent.vm, error.failure, intent.server_id))
        return Done(ServerGone(intent.vm, intent.server_id) if self._gone(intent.server_id) else None)

    def remove(self, intent: RemoveLeftover) -> Outcome:
        """Remove a port, volume or floating IP."""
        try:
            self.cloud.remove(intent.leftover)
        except PortError as error:
            return Done(LeftoverRemoved(intent.leftover, error.failure.text))
        return Done(LeftoverRemoved(intent.leftover))

    def _send(self, vm: Vm) -> Outcome:
        marks = {"vm": vm.name, "pool": vm.pool, "job": str(vm.job or "")}
        spec = ServerSpec(vm.name, vm.flavor, marks, self.user_data(vm), vm.zone, vm.pool)
        try:
            return Done(ServerCreated(vm.name, self.cloud.create(spec)))
        except PortError as error:
            return Done(CreateFailed(vm.name, error.failure))

    def _save_console(self, intent: DeleteServer) -> None:
        try:
            self.keep_console(intent.vm, self.cloud.console(intent.server_id))
        except (PortError, OSError) as error:
            _log.warning("no console log kept", extra={"vm": intent.vm, "fault": str(error)})

    def _gone(self, server_id: str) -> bool:
        try:
            return self.cloud.server(server_id) is None
        except PortError:
            return False


def _oldest(servers: tuple[Server, ...]) -> Server:
    return min(servers, key=lambda server: (server.created_at, server.server_id))
