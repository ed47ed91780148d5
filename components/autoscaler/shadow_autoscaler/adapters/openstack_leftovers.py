"""What outlives a server: ports, volumes and floating IPs that carry our mark and that no server uses.

A premade volume or port carries the mark from its own create call. What Nova makes carries nothing but the
server's ID: the sweep marks it while its server lives, and knows the IDs of all servers of ours that it saw.
Nova gives what it makes no name, and what a person attaches to a server of ours by hand stays that person's.
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

    def __init__(
        self,
        session: Session,
        marks: Marks,
        building: Callable[[], AbstractSet[str]],
        seen: Mapping[str, str],
    ) -> None:
        """Take what is known elsewhere.

        Args:
            session: Sends the calls.
            marks: The deployment's.
            building: VMs whose create call is under way: what was made for them waits for a server.
            seen: VM by server ID, of all servers of ours that were ever seen.
        """
        self._session = session
        self._marks = marks
        self._building = building
        self._seen = seen

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
        # A boot volume that Nova has only reserved names no server yet, but its VM's server is there.
        used = busy | set(known.values())
        return tuple(item for item in found if item and item.vm not in used)

    def remove(self, leftover: Leftover, servers: Callable[[], Mapping[str, str | None]]) -> None:
        """Remove one, after looking again whether it is ours and unused."""
        if leftover.kind not in _PLACES:
            text = f"{leftover.kind} {leftover.leftover_id}: this adapter makes none, so it removes none"
            raise PortError(Failure(FailureKind.REFUSED, text))
        service, path, key = _PLACES[leftover.kind]
        shown = self._session.find(Call(service, "GET", f"{path}/{leftover.leftover_id}"))
        if shown is None or not self._unused(leftover.kind, shown[key], servers()):
            return
        if leftover.kind is LeftoverKind.VOLUME:
            self._release_volume(shown[key])
        if leftover.kind is LeftoverKind.PORT:
            self._release_port(shown[key], leftover.vm)
        self._session.find(Call(service, "DELETE", f"{path}/{leftover.leftover_id}"))

    def _unused(self, kind: LeftoverKind, raw: Raw, servers: Mapping[str, str | None]) -> bool:
        judged = {
            LeftoverKind.FLOATING_IP: lambda: self._address(raw),
            LeftoverKind.PORT: lambda: self._port(raw, servers),
            LeftoverKind.VOLUME: lambda: self._volume(raw, servers),
        }[kind]()
        return judged is not None and judged.vm not in servers.values()

    def _address(self, raw: Raw) -> Leftover | None:
        vm = self._marks.described(raw.get("description"), raw.get("tags") or ())
        unused = not raw.get("port_id")
        return Leftover(LeftoverKind.FLOATING_IP, raw["id"], vm) if unused and vm is not None else None

    def _port(self, raw: Raw, servers: Mapping[str, str | None]) -> Leftover | None:
        server_id, owner = str(raw.get("device_id") or ""), str(raw.get("device_owner") or "")
        vm = self._marks.described(raw.get("description"), raw.get("tags") or ())
        if vm is None and not _labelled(raw):
            vm = self._seen.get(server_id)
        if vm is None or server_id in servers or not (not owner or owner.startswith("compute:")):
            return None
        return Leftover(LeftoverKind.PORT, raw["id"], vm)

    def _volume(self, raw: Raw, servers: Mapping[str, str | None]) -> Leftover | None:
        attached = [str(each["server_id"]) for each in raw.get("attachments") or ()]
        own = self._marks.read(raw.get("metadata"))
        vm = own.get("vm", "") if own is not None else self._vm_of(raw, attached)
        if vm is None or not servers.keys().isdisjoint(attached) or raw.get("status") in _MOVING:
            return None
        return Leftover(LeftoverKind.VOLUME, raw["id"], vm)

    def _vm_of(self, raw: Raw, attached: list[str]) -> str | None:
        if _labelled(raw):
            return None
        return next((vm for server_id in attached if (vm := self._seen.get(server_id)) is not None), None)

    def claim(self, volume_id: str, vm: str) -> None:
        """Mark a volume that the fault of a server of ours names, before both are gone."""
        body = {"metadata": self._marks.metadata({"vm": vm})}
        with suppress(PortError):
            self._session.call(Call("block-storage", "POST", f"/volumes/{volume_id}/metadata", body))

    def _adopt(self, ports: list[dict[str, Any]], volumes: list[dict[str, Any]], servers: Raw) -> None:
        """Mark what Nova made for our living servers; a failure leaves it to the next sweep."""
        for port in ports:
            vm = servers.get(port["device_id"])
            if vm and not _labelled(port):
                body = {"port": {"description": self._marks.description(vm)}}
                with suppress(PortError):
                    self._session.call(Call("network", "PUT", f"/ports/{port['id']}", body))
        for volume in volumes:
            vm = next((servers.get(each["server_id"]) for each in volume.get("attachments") or ()), None)
            data = _labelled(volume) or volume.get("bootable") == "false"
            if vm and not data and self._marks.read(volume.get("metadata")) is None:
                self.claim(volume["id"], vm)

    def _release_port(self, port: Raw, vm: str) -> None:
        """Take a port off the server that is gone; Neutron lets no tenant delete one that Nova holds."""
        if not port.get("device_owner"):
            return
        free = {"device_id": "", "device_owner": "", "description": self._marks.description(vm)}
        self._session.find(Call("network", "PUT", f"/ports/{port['id']}", {"port": free}))

    def _release_volume(self, volume: Raw) -> None:
        """Take attachments to servers that are gone off the volume, else Cinder refuses to delete it."""
        if not volume.get("attachments") and volume.get("status") != "reserved":
            return
        listed = self._session.list(
            "block-storage", "/attachments", "attachments", volume_id=str(volume["id"])
        )
        for attachment in listed:
            self._session.find(Call("block-storage", "DELETE", f"/attachments/{attachment['id']}"))


def _labelled(raw: Raw) -> bool:
    """Whether somebody gave it a name or a description, which Nova never does."""
    return bool(raw.get("name") or raw.get("description"))


_PLACES: Mapping[LeftoverKind, tuple[Any, str, str]] = {
    LeftoverKind.FLOATING_IP: ("network", "/floatingips", "floatingip"),
    LeftoverKind.PORT: ("network", "/ports", "port"),
    LeftoverKind.VOLUME: ("block-storage", "/volumes", "volume"),
}
