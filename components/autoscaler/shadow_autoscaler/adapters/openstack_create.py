"""Creating a server: everything resolved and made before, then one call that is never sent twice."""

import base64
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from shadow_autoscaler.adapters.openstack_lookup import Lookup
from shadow_autoscaler.adapters.openstack_marks import Marks
from shadow_autoscaler.adapters.openstack_session import Call, Session
from shadow_autoscaler.adapters.openstack_settings import BootVolume, Machine, OpenStackSettings
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.machines import Server, ServerStatus
from shadow_autoscaler.ports import ServerSpec

USER_DATA_LIMIT = 65_535
"""Nova's, in bytes of base64."""
_POLL_S = (0.1, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class _Ids:
    flavor: str
    image: str
    network: str
    groups: tuple[str, ...]


class Creator:
    """Sends create calls."""

    def __init__(self, session: Session, settings: OpenStackSettings, marks: Marks) -> None:
        self._session = session
        self._settings = settings
        self._marks = marks
        self._lookup = Lookup(session)

    def create(self, spec: ServerSpec) -> Server:
        """Create a server; what was made for it before is removed again if the cloud refuses it."""
        user_data = encoded(spec.user_data)
        machine = self._settings.machine_of(spec.pool)
        ids = self._ids(spec, machine)
        try:
            return self._made(spec, machine, ids, user_data)
        except PortError as error:
            if error.failure.kind is FailureKind.CAPACITY:
                raise PortError(self._zone_failure(spec.zone, error.failure)) from error
            if error.failure.kind is not FailureKind.CONFIG:
                raise
            self._lookup.forget()
            fresh = self._ids(spec, machine)
            if fresh == ids:
                raise
            # An image or network was replaced by another of the same name; the refused call made nothing.
            return self._made(spec, machine, fresh, user_data)

    def _ids(self, spec: ServerSpec, machine: Machine) -> _Ids:
        find = self._lookup.find
        groups = machine.security_groups if machine.premade_port else ()
        return _Ids(
            flavor=find("flavor", spec.flavor),
            image=find("image", machine.image),
            network=find("network", machine.network),
            groups=tuple(find("security group", name) for name in groups),
        )

    def _made(self, spec: ServerSpec, machine: Machine, ids: _Ids, user_data: str) -> Server:
        with self._undone_on_refusal() as made:
            volume = machine.volume
            volume_id = self._volume(spec, volume, ids.image, made) if volume and volume.premade else ""
            port_id = self._port(spec, ids, made) if machine.premade_port else ""
            if volume_id:
                self._await_volume(volume_id)
            body = self._body(spec, machine, ids, user_data)
            body["networks"] = [{"port": port_id} if port_id else {"uuid": ids.network}]
            if volume:
                body["block_device_mapping_v2"] = [_disk(volume, volume_id, ids.image)]
            answer = self._session.call(Call("compute", "POST", "/servers", {"server": body}, once=True))
        return Server(
            server_id=str(answer["server"]["id"]),
            name=spec.name,
            status=ServerStatus.BUILDING,
            raw_status="BUILD",
            created_at=time.time(),
            marks=dict(spec.marks),
            zone=spec.zone,
            flavor=spec.flavor,
        )

    def _body(self, spec: ServerSpec, machine: Machine, ids: _Ids, user_data: str) -> dict[str, Any]:
        groups = [] if machine.premade_port else [{"name": name} for name in machine.security_groups]
        chosen = {
            "imageRef": "" if machine.volume else ids.image,
            "security_groups": groups,
            "key_name": machine.key_name,
            "availability_zone": spec.zone,
            "user_data": user_data,
        }
        return {
            "name": spec.name,
            "flavorRef": ids.flavor,
            "metadata": self._marks.metadata(spec.marks),
            "config_drive": machine.config_drive,
            **{key: value for key, value in chosen.items() if value},
        }

    def _volume(self, spec: ServerSpec, volume: BootVolume, image_id: str, made: list[Call]) -> str:
        wanted = {
            "name": spec.name,
            "size": volume.size_gib,
            "imageRef": image_id,
            "metadata": self._marks.metadata(spec.marks),
            "volume_type": volume.volume_type or None,
            "availability_zone": volume.zone or None,
        }
        body = {"volume": {key: value for key, value in wanted.items() if value is not None}}
        volume_id = str(self._session.call(Call("block-storage", "POST", "/volumes", body))["volume"]["id"])
        made.append(Call("block-storage", "DELETE", f"/volumes/{volume_id}"))
        return volume_id

    def _port(self, spec: ServerSpec, ids: _Ids, made: list[Call]) -> str:
        wanted: dict[str, Any] = {
            "name": spec.name,
            "network_id": ids.network,
            "description": self._marks.description(spec.name),
        }
        if ids.groups:
            wanted["security_groups"] = list(ids.groups)
        port_id = str(self._session.call(Call("network", "POST", "/ports", {"port": wanted}))["port"]["id"])
        made.append(Call("network", "DELETE", f"/ports/{port_id}"))
        return port_id

    def _await_volume(self, volume_id: str) -> None:
        end = time.monotonic() + self._settings.volume_wait_s
        for pause in _pauses():
            shown = self._session.call(Call("block-storage", "GET", f"/volumes/{volume_id}"))["volume"]
            status = str(shown["status"])
            if status == "available":
                return
            if status not in {"creating", "downloading"} or time.monotonic() > end:
                text = f"boot volume {volume_id} is {status!r}, expected 'available'; no server was asked for"
                raise PortError(Failure(FailureKind.TRANSIENT, text))
            time.sleep(pause)

    def _zone_failure(self, zone: str, failure: Failure) -> Failure:
        """Tell a zone that does not exist from one whose hosts are all out of service."""
        if zone and "availability zone" in failure.text.lower():
            shown = self._session.readable(Call("compute", "GET", "/os-availability-zone"))
            if shown and zone not in {item["zoneName"] for item in shown["availabilityZoneInfo"]}:
                return Failure(FailureKind.CONFIG, f"zone {zone!r} does not exist: {failure.text}"[:300])
        return failure

    @contextmanager
    def _undone_on_refusal(self) -> Generator[list[Call]]:
        """Collect calls that undo, sent when the server was certainly not made; the sweep does the rest."""
        made: list[Call] = []
        try:
            yield made
        except PortError as error:
            if error.failure.kind is not FailureKind.UNKNOWN_OUTCOME:
                for undo in reversed(made):
                    with suppress(PortError):
                        self._session.find(undo)
            raise


def encoded(user_data: str) -> str:
    """Return user-data as Nova wants it.

    Raises:
        PortError: it is too long for Nova (CONFIG).
    """
    text = base64.b64encode(user_data.encode()).decode()
    if len(text) > USER_DATA_LIMIT:
        most = USER_DATA_LIMIT // 4 * 3
        fault = (
            f"user-data is {len(user_data.encode()):,} bytes, {len(text):,} as base64;"
            f" Nova takes {USER_DATA_LIMIT:,} ({most:,} plain): shorten the pool's user_data_file"
        )
        raise PortError(Failure(FailureKind.CONFIG, fault))
    return text


def _disk(volume: BootVolume, volume_id: str, image_id: str) -> dict[str, Any]:
    disk = {"boot_index": 0, "destination_type": "volume", "delete_on_termination": True}
    if volume_id:
        return {**disk, "source_type": "volume", "uuid": volume_id}
    kind = {"volume_type": volume.volume_type} if volume.volume_type else {}
    return {**disk, **kind, "source_type": "image", "uuid": image_id, "volume_size": volume.size_gib}


def _pauses() -> Iterator[float]:
    yield from _POLL_S
    while True:
        yield _POLL_S[-1]
