"""What outlives a server: ports, volumes and floating IPs that carry our mark and that no server uses.

A premade volume or port carries the mark from its own create call. A port that Nova made carries nothing but
the server's ID: the sweep marks it while its server lives, so that it can be proved ours afterwards.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

from shadow_autoscaler.adapters.openstack_marks import Marks
from shadow_autoscaler.adapters.openstack_session import Call, Session
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.leftovers import Leftover, LeftoverKind

_MOVING = frozenset({"creating", "downloading", "deleting", "attaching", "detaching", "maintenance"})
"""Volume statuses that end by themselves."""

Raw = Mapping[str, Any]


class Sweep:
    """Finds and removes leftovers."""

    def __init__(self, session: Session, marks: Marks, building: Callable[[], AbstractSet[str]]) -> None:
        self._session = session
        self._marks = marks
        self._building = building

    def find(self, servers: Callable[[], Mapping[str, str | None]]) -> tuple[Leftover, ...]:
        """Return leftovers in the order of removal.

        Args:
            servers: Lists every server of the project: its ID, and the name of its VM where it is ours.
        """
        busy = self._building()
        project = self._session.project_id()
        ports = self._session.list("network", "/ports", "ports", project_id=project)
        addresses = self._session.list("network", "/floatingips", "floatingips", project_id=project)
        volumes = self._session.list("block-storage", "/volumes/detail", "volumes")
        # Listed last: whatever of the above belongs to a server that was made meanwhile finds it here.
        known = servers()
        self._adopt(ports, volumes, known)
        found = [
            *(self._address(address) for address in addresses),
            *(self._port(port, known) for port in ports),
            *(self._volume(volume, known) for volume in volumes),
        ]
        return tuple(item for item in found if item and item.vm not in busy)

    def remove(self, leftover: Leftover, servers: Callable[[], Mapping[str, str | None]]) -> None:
        """Remove one, after looking again whether it is ours and unused."""
        if leftover.kind not in _PLACES:
            text = f"{leftover.kind} {leftover.leftover_id}: this adapter makes none, so it removes none"
            raise PortError(Failure(FailureKind.REFUSED, text))
        service, path, key = _PLACES[leftover.kind]
        shown = self._session.find(Call(service, "GET", f"{path}/{leftover.leftover_id}"))
        if shown is None or self._judged(leftover.kind, shown[key], servers) is None:
            return
        if leftover.kind is LeftoverKind.VOLUME:
            self._release(shown[key])
        self._session.find(Call(service, "DELETE", f"{path}/{leftover.leftover_id}"))

    def _judged(
        self, kind: LeftoverKind, raw: Raw, servers: Callable[[], Mapping[str, str | None]]
    ) -> Leftover | None:
        if kind is LeftoverKind.FLOATING_IP:
            return self._address(raw)
        judge = self._port if kind is LeftoverKind.PORT else self._volume
        return judge(raw, servers())

    def _address(self, raw: Raw) -> Leftover | None:
        vm = self._marks.described(raw.get("description"), raw.get("tags") or ())
        unused = not raw.get("port_id")
        return Leftover(LeftoverKind.FLOATING_IP, raw["id"], vm) if unused and vm is not None else None

    def _port(self, raw: Raw, servers: Mapping[str, str | None]) -> Leftover | None:
        vm = self._marks.described(raw.get("description"), raw.get("tags") or ())
        owner = str(raw.get("device_owner") or "")
        if vm is None or raw.get("device_id") in servers or not (not owner or owner.startswith("compute:")):
            return None
        return Leftover(LeftoverKind.PORT, raw["id"], vm)

    def _volume(self, raw: Raw, servers: Mapping[str, str | None]) -> Leftover | None:
        own = self._marks.read(raw.get("metadata"))
        used = any(attached["server_id"] in servers for attached in raw.get("attachments") or ())
        if own is None or used or raw.get("status") in _MOVING:
            return None
        return Leftover(LeftoverKind.VOLUME, raw["id"], own.get("vm", ""))

    def _adopt(self, ports: list[dict[str, Any]], volumes: list[dict[str, Any]], servers: Raw) -> None:
        """Mark what Nova made for our living servers; a failure leaves it to the next sweep."""
        for port in ports:
            vm = servers.get(port["device_id"])
            if vm and not port.get("description"):
                body = {"port": {"description": self._marks.description(vm)}}
                with suppress(PortError):
                    self._session.call(Call("network", "PUT", f"/ports/{port['id']}", body))
        for volume in volumes:
            vm = next((servers.get(each["server_id"]) for each in volume.get("attachments") or ()), None)
            if vm and self._marks.read(volume.get("metadata")) is None:
                body = {"metadata": self._marks.metadata({"vm": vm})}
                with suppress(PortError):
                    self._session.call(
                        Call("block-storage", "POST", f"/volumes/{volume['id']}/metadata", body)
                    )

    def _release(self, volume: Raw) -> None:
        """Take attachments to servers that are gone off the volume, else Cinder refuses to delete it."""
        if not volume.get("attachments") and volume.get("status") != "reserved":
            return
        listed = self._session.list(
            "block-storage", "/attachments", "attachments", volume_id=str(volume["id"])
        )
        for attachment in listed:
            self._session.find(Call("block-storage", "DELETE", f"/attachments/{attachment['id']}"))


_PLACES: Mapping[LeftoverKind, tuple[Any, str, str]] = {
    LeftoverKind.FLOATING_IP: ("network", "/floatingips", "floatingip"),
    LeftoverKind.PORT: ("network", "/ports", "port"),
    LeftoverKind.VOLUME: ("block-storage", "/volumes", "volume"),
}
