"""The `Cloud` port over openstacksdk: servers of one deployment in one OpenStack project."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from shadow_autoscaler.adapters import openstack_quota
from shadow_autoscaler.adapters.openstack_create import Creator
from shadow_autoscaler.adapters.openstack_leftovers import Sweep
from shadow_autoscaler.adapters.openstack_marks import Marks
from shadow_autoscaler.adapters.openstack_servers import is_deleting, is_hidden, parse, unfinished_volumes
from shadow_autoscaler.adapters.openstack_session import Call, Session
from shadow_autoscaler.adapters.openstack_settings import BootVolume, Machine, OpenStackSettings
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.leftovers import Leftover
from shadow_autoscaler.core.machines import Server
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.ports import ServerSpec

__all__ = ["BootVolume", "Machine", "OpenStackCloud", "OpenStackSettings"]

_T = TypeVar("_T")
_CONSOLE_LINES = 2_000
_REMEMBERED = 10_000
_CONSOLE_BYTES = 64 * 1024


class OpenStackCloud:
    """Servers, ports, volumes and floating IPs that carry this deployment's mark; nothing else is touched.

    Nothing is sent before the first call. Calls may come from several threads.
    """

    def __init__(self, settings: OpenStackSettings) -> None:
        self._settings = settings
        self._session = Session(settings)
        self._marks = Marks(settings.deployment)
        self._creator = Creator(self._session, settings, self._marks)
        self._lock = threading.Lock()
        self._building: Counter[str] = Counter()
        self._owners: dict[str, Server | None] = {}
        self._seen: OrderedDict[str, str] = OrderedDict()
        self._deletes: OrderedDict[str, int] = OrderedDict()
        self._sweep = Sweep(self._session, self._marks, self._building_now, self._seen)

    def create(self, spec: ServerSpec) -> Server:
        """Send the create call, once. Its failure is UNKNOWN_OUTCOME where the server may exist."""
        with self._in_progress(spec.name):
            server = self._creator.create(spec)
        self._remember(self._seen, server.server_id, spec.name)
        return server

    def servers(self, vm: str = "") -> tuple[Server, ...]:
        """Return every server of ours, or those of one VM, in one pass over the project's list."""
        ours = (server for server in self._look().values() if server is not None)
        return tuple(server for server in ours if not vm or server.marks.get("vm") == vm)

    def server(self, server_id: str) -> Server | None:
        """Return the server; None when Nova says 404. CONFLICT for one that is not ours (any more)."""
        raw = self._session.find(Call("compute", "GET", f"/servers/{server_id}"))
        return self._ours(raw["server"]) if raw else None

    def delete(self, server_id: str) -> None:
        """Ask for the deletion of a server of ours, by force after several tries if the settings say so."""
        answer = self._session.find(Call("compute", "GET", f"/servers/{server_id}"))
        if answer is None:
            return
        raw: dict[str, Any] = answer["server"]
        server = self._ours(raw)
        if raw.get("locked"):
            self._unlock(raw)
        for volume_id in unfinished_volumes(raw):
            self._sweep.claim(volume_id, server.marks.get("vm", server.name))
        if raw.get("status") == "SOFT_DELETED" or self._tried(server_id):
            self._session.find(_action(server_id, {"forceDelete": None}))
            return
        self._delete(server_id)

    def console(self, server_id: str) -> str:
        """Return the end of the console log, at most 64 KiB; empty where there is none (yet)."""
        raw = self._session.find(Call("compute", "GET", f"/servers/{server_id}"))
        if raw is None or self._read(raw["server"]) is None:
            return ""
        body = {"os-getConsoleOutput": {"length": _CONSOLE_LINES}}
        try:
            answer = self._session.find(_action(server_id, body)) or {}
        except PortError as error:
            if error.failure.kind is FailureKind.CONFLICT or " 501 " in error.failure.text:
                return ""
            raise
        return str(answer.get("output") or "").encode()[-_CONSOLE_BYTES:].decode(errors="ignore")

    def quota(self) -> Quota:
        """Return the room that is left in the project."""
        return openstack_quota.read(self._session, time.time())

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return ports, volumes and floating IPs of ours that no server uses and no create call waits for.

        Marks what Nova made for our living servers on the way: it is provably ours when they are gone.
        """
        return self._sweep.find(self._vms)

    def remove(self, leftover: Leftover) -> None:
        """Remove one, after another look at its mark and use; a missing one is no error."""
        self._sweep.remove(leftover, self._vms)

    def _vms(self) -> dict[str, str | None]:
        return {
            server_id: server.marks.get("vm", server.name) if server else None
            for server_id, server in self._look().items()
        }

    def _look(self) -> dict[str, Server | None]:
        """Return every server of the project by ID, None for those that are not ours."""
        listed = self._session.list("compute", "/servers/detail", "servers")
        seen = {str(raw["id"]): self._read(raw) for raw in listed}
        with self._lock:
            self._owners = seen
        return seen

    def _read(self, raw: dict[str, Any]) -> Server | None:
        if is_hidden(raw):
            return self._remembered(raw)
        marks = self._marks.read(raw.get("metadata"))
        if marks is None:
            return None
        self._remember(self._seen, str(raw["id"]), marks.get("vm", ""))
        return parse(raw, marks)

    def _ours(self, raw: dict[str, Any]) -> Server:
        """A server without our mark is not gone: it may be one of ours that lost it, and costs on."""
        server = self._read(raw)
        if server is None:
            text = f"server {raw['id']} lacks the mark of {self._settings.deployment!r}: left alone"
            raise PortError(Failure(FailureKind.CONFLICT, text))
        return server

    def _remembered(self, raw: dict[str, Any]) -> Server | None:
        """Recognise a server of a cell that is down by the last list; else nothing may be concluded."""
        with self._lock:
            if raw["id"] not in self._owners:
                text = f"compute: server {raw['id']} is in a cell that is down, so whose it is cannot be told"
                raise PortError(Failure(FailureKind.TRANSIENT, text))
            before = self._owners[raw["id"]]
        return None if before is None else parse({**raw, "name": before.name}, before.marks)

    def _delete(self, server_id: str) -> None:
        try:
            self._session.find(Call("compute", "DELETE", f"/servers/{server_id}"))
        except PortError as error:
            if error.failure.kind is not FailureKind.CONFLICT:
                raise
            after = self._session.find(Call("compute", "GET", f"/servers/{server_id}"))
            if after is not None and not is_deleting(after["server"]):
                raise

    def _unlock(self, raw: dict[str, Any]) -> None:
        if self._settings.unlock:
            self._session.find(_action(raw["id"], {"unlock": None}))
            return
        reason = raw.get("locked_reason") or "no reason given"
        remedy = f"`openstack server unlock {raw['id']}`, or set openstack.unlock"
        text = f"server {raw['id']} is locked ({reason}): {remedy}"
        raise PortError(Failure(FailureKind.CONFLICT, text))

    def _tried(self, server_id: str) -> bool:
        """Count a deletion; whether there were enough to use force now."""
        tries = self._deletes.get(server_id, 0)
        self._remember(self._deletes, server_id, tries + 1)
        return 0 < self._settings.force_delete_after <= tries

    def _remember(self, memory: OrderedDict[str, _T], server_id: str, value: _T) -> None:
        with self._lock:
            memory[server_id] = value
            if len(memory) > _REMEMBERED:
                memory.popitem(last=False)

    def _building_now(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._building)

    @contextmanager
    def _in_progress(self, vm: str) -> Generator[None]:
        with self._lock:
            self._building[vm] += 1
        try:
            yield
        finally:
            with self._lock:
                self._building[vm] -= 1
                self._building += Counter()


def _action(server_id: str, body: dict[str, Any]) -> Call:
    return Call("compute", "POST", f"/servers/{server_id}/action", body)
