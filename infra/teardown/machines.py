"""What a deployment's autoscaler owns in the cloud; anything without both of its marks is left alone."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from openstack import exceptions as sdk
from openstack.connection import Connection

from shadow_gpu_runners import ownership

_MACHINE = ownership.MADE_BY_AUTOSCALER
_CONTROLLER = "autoscaler-controller"
_POLL_S = 1.0
_ASK_AGAIN = 10


class NotGoneError(RuntimeError):
    """Something is still there after the time that it was given; the text names it."""


@dataclass(frozen=True, slots=True)
class Owned:
    """One thing of the autoscaler's."""

    kind: str
    id: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name or '-'} ({self.id})"


class Project:
    """The OpenStack project, as far as one deployment's autoscaler has made it."""

    def __init__(self, connection: Connection, deployment: str, limit_s: float) -> None:
        """Look at `deployment` only, and wait at most `limit_s` for anything."""
        self._cloud = connection
        self._deployment = deployment
        self._limit_s = limit_s

    def machines(self) -> list[Owned]:
        """Return the machines of jobs."""
        return [Owned("server", server.id, server.name) for server in self._servers(_MACHINE)]

    def leftovers(self) -> list[Owned]:
        """Return ports, addresses and volumes of such machines, in the order of removal."""
        return [*self._described(), *self._volumes()]

    def stop_controller(self) -> list[str]:
        """Stop the controller, so that it makes no machine any more; return the names of those that ran."""
        running = [each for each in self._servers(_CONTROLLER) if each.status == "ACTIVE"]
        for server in running:
            self._cloud.compute.stop_server(server.id)
        self._wait(self._running_controllers, "still running", lambda _controller: None)
        return [str(server.name) for server in running]

    def remove_all(self) -> None:
        """Delete every machine, then what they leave behind.

        Raises:
            NotGoneError: something is still there after the limit.
        """
        self._wait(self.machines, "still there", self._remove)
        self._wait(self.leftovers, "still there", self._remove)

    def _running_controllers(self) -> list[Owned]:
        found = self._servers(_CONTROLLER)
        return [Owned("server", each.id, each.name) for each in found if each.status == "ACTIVE"]

    def _servers(self, component: str) -> Iterator[Any]:
        for server in self._cloud.compute.servers():
            if ownership.is_marked(server.metadata, self._deployment, component):
                yield server

    def _described(self) -> Iterator[Owned]:
        network, project = self._cloud.network, self._cloud.current_project_id
        for kind, listing in (("floating IP", network.ips), ("port", network.ports)):
            for found in listing(project_id=project):
                words = {*(found.description or "").split(), *(found.tags or ())}
                if {*ownership.tags(self._deployment, _MACHINE)} <= words:
                    yield Owned(kind, found.id, found.name or "")

    def _volumes(self) -> Iterator[Owned]:
        for volume in self._cloud.block_storage.volumes():
            if ownership.is_marked(volume.metadata, self._deployment, _MACHINE):
                yield Owned("volume", volume.id, volume.name or "")

    def _wait(self, left: Callable[[], list[Owned]], what: str, act: Callable[[Owned], None]) -> None:
        end, asked = time.monotonic() + self._limit_s, 0
        while found := left():
            if time.monotonic() > end:
                names = ", ".join(map(str, found))
                raise NotGoneError(f"{what} after {self._limit_s:.0f} s: {names}; run this again")
            # What was refused, or made since the list before, is asked for again now and then.
            if asked % _ASK_AGAIN == 0:
                for each in found:
                    act(each)
            asked += 1
            time.sleep(_POLL_S)

    def _remove(self, owned: Owned) -> None:
        removers: dict[str, Callable[[str], Any]] = {
            "server": self._cloud.compute.delete_server,
            "floating IP": self._cloud.network.delete_ip,
            "port": self._cloud.network.delete_port,
            "volume": self._cloud.block_storage.delete_volume,
        }
        # Refused while Nova is still at it: a port being freed, a volume being detached (Cinder says 400).
        with suppress(sdk.ConflictException, sdk.BadRequestException):
            removers[owned.kind](owned.id)
