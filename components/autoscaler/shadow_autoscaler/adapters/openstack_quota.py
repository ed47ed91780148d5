"""Room that is left in the project, from the limits of Nova, Cinder and Neutron."""

from collections.abc import Mapping
from typing import Any

from shadow_autoscaler.adapters.openstack_session import Call, Session
from shadow_autoscaler.core.quota import Quota


def read(session: Session, now: float) -> Quota:
    """Ask the three services; what they do not tell a tenant stays None."""
    nova = _absolute(session.readable(Call("compute", "GET", "/limits")))
    cinder = _absolute(session.readable(Call("block-storage", "GET", "/limits")))
    path = f"/quotas/{session.project_id()}/details.json"
    neutron: Mapping[str, Any] = (session.readable(Call("network", "GET", path)) or {}).get("quota", {})
    ports: Mapping[str, Any] = neutron.get("port") or {}
    return Quota(
        read_at=now,
        instances=_room(nova, "maxTotalInstances", "totalInstancesUsed"),
        cores=_room(nova, "maxTotalCores", "totalCoresUsed"),
        ram_mib=_room(nova, "maxTotalRAMSize", "totalRAMUsed"),
        volumes=_room(cinder, "maxTotalVolumes", "totalVolumesUsed"),
        gigabytes=_room(cinder, "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
        ports=_room(ports, "limit", "used", "reserved"),
    )


def _absolute(answer: Mapping[str, Any] | None) -> Mapping[str, Any]:
    limits: Mapping[str, Any] = (answer or {}).get("limits") or {}
    return limits.get("absolute") or {}


def _room(numbers: Mapping[str, Any], limit: str, *used: str) -> int | None:
    """Return what is left; None without a limit (-1) and where limit or use is not told."""
    most = numbers.get(limit)
    taken = [numbers.get(name) for name in used]
    if not isinstance(most, int) or most < 0 or not isinstance(taken[0], int):
        return None
    return max(0, most - sum(number for number in taken if isinstance(number, int)))
