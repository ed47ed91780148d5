"""Does the plan fit the project's quota, with what this deployment already uses counted once."""

from collections.abc import Iterable, Mapping

from openstack.connection import Connection

from preflight.findings import Finding
from settings import Settings

MARK = "shadow-gpu-runners.deployment"


def check(connection: Connection, settings: Settings, deployment: str) -> Iterable[Finding]:
    """Yield one finding per resource whose limit the plan exceeds."""
    free = available(connection, deployment)
    for resource, wanted in needs(connection, settings).items():
        room = free.get(resource)
        if room is not None and wanted > room:
            yield Finding(
                f"pools (quota of {resource})",
                f"the pools need {wanted}, the project has room for {room}",
                "lower a pool's count or size, or ask the operator for more",
            )


def needs(connection: Connection, settings: Settings) -> dict[str, int]:
    """Return what all pools together take of each quota."""
    flavors = {flavor.name: flavor for flavor in connection.compute.flavors()}
    total: dict[str, int] = dict.fromkeys(
        ("instances", "cores", "ram MiB", "volumes", "volume GiB", "ports", "floating IPs"), 0
    )
    for pool in settings.pools:
        flavor = flavors.get(pool.flavor)
        total["instances"] += pool.count
        total["cores"] += pool.count * (flavor.vcpus if flavor else 0)
        total["ram MiB"] += pool.count * (flavor.ram if flavor else 0)
        total["volumes"] += pool.count
        total["volume GiB"] += pool.count * pool.volume.size
        total["ports"] += pool.count
        total["floating IPs"] += pool.count * pool.floating_ip
    return total


def available(connection: Connection, deployment: str) -> dict[str, int]:
    """Return how much of each limited quota is free for `deployment`, its own use included."""
    own = _own_use(connection, deployment)
    limits = {**_compute(connection), **_storage(connection), **_network(connection)}
    return {
        resource: limit - used + own.get(resource, 0)
        for resource, (limit, used) in limits.items()
        if limit >= 0
    }


def _own_use(connection: Connection, deployment: str) -> Mapping[str, int]:
    servers = [s for s in connection.compute.servers() if s.metadata and s.metadata.get(MARK) == deployment]
    attached: list[list[dict[str, str]]] = [server.attached_volumes or [] for server in servers]
    volumes = [volume["id"] for volumes in attached for volume in volumes]
    sizes = [connection.block_storage.get_volume(volume).size for volume in volumes]
    return {
        "instances": len(servers),
        "cores": sum(server.flavor["vcpus"] for server in servers),
        "ram MiB": sum(server.flavor["ram"] for server in servers),
        "volumes": len(volumes),
        "volume GiB": sum(sizes),
        "ports": len(list(connection.network.ports(tags=f"deployment={deployment}"))),
        "floating IPs": len(list(connection.network.ips(tags=f"deployment={deployment}"))),
    }


def _compute(connection: Connection) -> dict[str, tuple[int, int]]:
    limits = connection.compute.get_limits().absolute
    return {
        "instances": (limits.instances, limits.instances_used),
        "cores": (limits.total_cores, limits.total_cores_used),
        "ram MiB": (limits.total_ram, limits.total_ram_used),
    }


def _storage(connection: Connection) -> dict[str, tuple[int, int]]:
    limits = connection.block_storage.get_limits().absolute
    return {
        "volumes": (limits.max_total_volumes, limits.total_volumes_used),
        "volume GiB": (limits.max_total_volume_gigabytes, limits.total_gigabytes_used),
    }


def _network(connection: Connection) -> dict[str, tuple[int, int]]:
    quota = connection.network.get_quota(connection.current_project_id or "", details=True)
    return {
        "ports": (quota.ports["limit"], quota.ports["used"]),
        "floating IPs": (quota.floating_ips["limit"], quota.floating_ips["used"]),
    }
