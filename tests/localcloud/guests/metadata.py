"""What a server's metadata service answers, path by path: OpenStack and EC2 forms of Nova's record."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localcloud.guests.servers import Server

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_NOTICE_POINTER = "/meta/spot_termination_time"
_VERSIONS = ("2018-08-27", "2020-10-14", "latest")
_EC2_VERSIONS = ("2009-04-04", "latest")


@dataclass(frozen=True, slots=True)
class Notice:
    """Announcement that a spot instance ends: when (ISO 8601, UTC) and where `meta_data.json` shows it."""

    at: str
    pointer: str = DEFAULT_NOTICE_POINTER


def user_data(server: Server) -> bytes | None:
    """The user-data as the guest sees it; None where the server has none or Nova's base64 is broken."""
    try:
        return base64.b64decode(server.user_data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def answer(server: Server, path: str, notice: Notice | None = None) -> bytes | None:
    """Body for a path of the metadata service; None is 404."""
    parts = [part for part in path.split("?", maxsplit=1)[0].split("/") if part]
    if not parts:
        return "\n".join(_EC2_VERSIONS).encode()
    if parts[0] == "openstack":
        return _openstack(server, parts[1:], notice)
    return _ec2(server, parts[1:], notice) if parts[0] in _EC2_VERSIONS else None


def _openstack(server: Server, parts: list[str], notice: Notice | None) -> bytes | None:
    if not parts:
        return "\n".join(_VERSIONS).encode()
    if parts[0] not in _VERSIONS:
        return None
    files: dict[str, Callable[[], bytes | None]] = {
        "meta_data.json": lambda: json.dumps(meta_data(server, notice)).encode(),
        "network_data.json": lambda: json.dumps(_network_data(server)).encode(),
        "vendor_data.json": lambda: b"{}",
        "vendor_data2.json": lambda: b"{}",
        "user_data": lambda: user_data(server),
    }
    if len(parts) == 1:
        return "\n".join(name for name, make in files.items() if make() is not None).encode()
    make = files.get("/".join(parts[1:]))
    return make() if make else None


def meta_data(server: Server, notice: Notice | None = None) -> dict[str, Any]:
    """The OpenStack `meta_data.json`, with the notice at its pointer where one was given."""
    document: dict[str, Any] = {
        "uuid": server.id,
        "name": server.name,
        "hostname": f"{server.name}.novalocal",
        "availability_zone": server.zone,
        "launch_index": 0,
        "project_id": server.project_id,
        "meta": dict(server.metadata),
        "devices": [],
        "dedicated_cpus": [],
    }
    if notice:
        _put(document, notice.pointer, notice.at)
    return document


def _put(document: dict[str, Any], pointer: str, value: str) -> None:
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.strip("/").split("/")]
    for part in parents:
        document = document.setdefault(part, {})
    document[last] = value


def _network_data(server: Server) -> dict[str, Any]:
    fixed = [address for address in server.addresses if address.kind == "fixed"]
    return {
        "links": [
            {"id": f"tap{index}", "type": "ovs", "ethernet_mac_address": address.mac, "mtu": 1450}
            for index, address in enumerate(fixed)
        ],
        "networks": [
            {
                "id": f"network{index}",
                "type": "ipv6" if ":" in address.ip else "ipv4",
                "link": f"tap{index}",
                "ip_address": address.ip,
            }
            for index, address in enumerate(fixed)
        ],
        "services": [],
    }


def _ec2(server: Server, parts: list[str], notice: Notice | None) -> bytes | None:
    if not parts:
        return b"meta-data/\nuser-data" if user_data(server) else b"meta-data/"
    if parts == ["user-data"]:
        return user_data(server)
    if parts[0] != "meta-data":
        return None
    return _walk(_ec2_tree(server, notice), parts[1:])


def _ec2_tree(server: Server, notice: Notice | None) -> dict[str, Any]:
    def ip(kind: str) -> str:
        return next((address.ip for address in server.addresses if address.kind == kind), "")

    tree: dict[str, Any] = {
        "ami-id": "ami-00000001",
        "hostname": f"{server.name}.novalocal",
        "instance-id": f"i-{server.id[:8]}",
        "instance-type": server.flavor,
        "local-hostname": f"{server.name}.novalocal",
        "local-ipv4": ip("fixed"),
        "placement": {"availability-zone": server.zone},
        "public-ipv4": ip("floating"),
    }
    if notice:
        tree["spot"] = {"termination-time": notice.at}
    return tree


def _walk(node: Any, parts: list[str]) -> bytes | None:
    if isinstance(node, str):
        return None if parts else node.encode()
    if node is None:
        return None
    children: dict[str, Any] = node
    if parts:
        return _walk(children.get(parts[0]), parts[1:])
    return "\n".join(
        f"{name}/" if isinstance(value, dict) else name for name, value in children.items()
    ).encode()
