"""Nova's answers about servers as values of the core."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from shadow_autoscaler.adapters.openstack_errors import of_fault
from shadow_autoscaler.core.machines import Server, ServerStatus

STATUSES: Mapping[str, ServerStatus] = {
    "ACTIVE": ServerStatus.ACTIVE,
    "PASSWORD": ServerStatus.ACTIVE,
    "REBOOT": ServerStatus.ACTIVE,
    "HARD_REBOOT": ServerStatus.ACTIVE,
    "MIGRATING": ServerStatus.ACTIVE,
    "VERIFY_RESIZE": ServerStatus.ACTIVE,
    "BUILD": ServerStatus.BUILDING,
    "REBUILD": ServerStatus.BUILDING,
    "RESIZE": ServerStatus.BUILDING,
    "REVERT_RESIZE": ServerStatus.BUILDING,
    "ERROR": ServerStatus.ERROR,
    "SHUTOFF": ServerStatus.STOPPED,
    "PAUSED": ServerStatus.STOPPED,
    "SUSPENDED": ServerStatus.STOPPED,
    "SHELVED": ServerStatus.STOPPED,
    "SHELVED_OFFLOADED": ServerStatus.STOPPED,
    "RESCUE": ServerStatus.STOPPED,
    "EXPIRED": ServerStatus.STOPPED,
    "DELETED": ServerStatus.DELETING,
    "SOFT_DELETED": ServerStatus.DELETING,
    "UNKNOWN": ServerStatus.UNKNOWN,
}
"""Every status of Nova, and EXPIRED of clouds that end spot servers so."""

_UNFINISHED = re.compile(r"Volume ([0-9a-f-]{36}) did not finish being created")
_DELETING_TASKS = frozenset({"deleting", "soft-deleting", "force-deleting"})


def is_deleting(raw: Mapping[str, Any]) -> bool:
    """Whether the deletion has begun; Nova keeps the status until it is done."""
    return raw.get("OS-EXT-STS:task_state") in _DELETING_TASKS


def is_hidden(raw: Mapping[str, Any]) -> bool:
    """Whether the server's cell is down: Nova then tells its ID and nothing of whose it is."""
    return raw.get("status") == "UNKNOWN" and "metadata" not in raw


def unfinished_volumes(raw: Mapping[str, Any]) -> list[str]:
    """Return the volumes that Nova made for the server and gave up waiting for; it may leave them behind."""
    fault: Mapping[str, Any] = raw.get("fault") or {}
    return _UNFINISHED.findall(str(fault.get("message", "")))


def parse(raw: Mapping[str, Any], marks: Mapping[str, str]) -> Server:
    """Read a server as `GET /servers/{id}` shows it."""
    flavor: Mapping[str, Any] = raw.get("flavor") or {}
    word = str(raw.get("status", "UNKNOWN"))
    status = ServerStatus.DELETING if is_deleting(raw) else STATUSES.get(word, ServerStatus.UNKNOWN)
    fault: Mapping[str, Any] = raw.get("fault") or {}
    message = str(fault.get("message", ""))
    code = fault.get("code")
    return Server(
        server_id=str(raw["id"]),
        name=str(raw.get("name", "")),
        status=status,
        raw_status=word,
        created_at=seconds(raw.get("created")),
        marks=marks,
        fault=message,
        fault_code=code,
        failure=of_fault(message, code) if word == "ERROR" else None,
        addresses=_addresses(raw),
        host=str(raw.get("hostId") or ""),
        zone=str(raw.get("OS-EXT-AZ:availability_zone") or ""),
        flavor=str(flavor.get("original_name", "")),
    )


def seconds(text: str | None) -> float:
    """Read a time of Nova (UTC) as seconds since the epoch; 0 where it has none."""
    if not text:
        return 0.0
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _addresses(raw: Mapping[str, Any]) -> tuple[str, ...]:
    networks: Mapping[str, list[Mapping[str, Any]]] = raw.get("addresses") or {}
    return tuple(str(entry["addr"]) for entries in networks.values() for entry in entries)
