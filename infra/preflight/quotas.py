"""Does the plan fit the project's quota, with what this deployment already uses counted once."""

from collections.abc import Iterable, Mapping

from openstack.connection import Connection

from preflight.findings import Finding
from settings import Settings
from shadow_gpu_runners import ownership
from shadow_gpu_runners.quota import Limit

_NETWORK_QUOTAS = (
    "networks",
    "subnets",
    "routers",
    "ports",
    "floating_ips",
    "security_groups",
    "security_group_rules",
)
_WORDS = {"ram_mib": "ram MiB", "gigabytes": "volume GiB", "floating_ips": "floating IPs"}


def words(name: str) -> str:
    """Return what a quota (one of `shadow_gpu_runners.quota.NAMES`) is called in a message."""
    return _WORDS.get(name, name.replace("_", " "))


def check(connection: Connection, settings: Settings, deployment: str) -> Iterable[Finding]:
    """Yield one finding per quota that the pools exceed, what `deployment` has now not counted twice."""
    own = _own_use(connection, deployment)
    known = limits(connection)
    for name, wanted in _needs(connection, settings).items():
        room = known[name].limit - known[name].used + own[name]
        if known[name].limit >= 0 and wanted > room:
            yield Finding(
                f"pools (quota of {words(name)})",
                f"the pools need {wanted}, the project has room for {room}",
                "lower a pool's count or size, or ask the operator for more",
            )


def _needs(connection: Connection, settings: Settings) -> dict[str, int]:
    flavors = {flavor.name: flavor for flavor in connection.compute.flavors()}
    pools = [(pool, flavors.get(pool.flavor)) for pool in settings.pools]
    instances = sum(pool.count for pool in settings.pools)
    return {
        "instances": instances,
        "cores": sum(pool.count * flavor.vcpus for pool, flavor in pools if flavor),
        "ram_mib": sum(pool.count * flavor.ram for pool, flavor in pools if flavor),
        "volumes": instances,
        "gigabytes": sum(pool.count * pool.volume.size for pool in settings.pools),
        "ports": instances,
        "floating_ips": sum(pool.count for pool in settings.pools if pool.floating_ip),
    }


def _own_use(connection: Connection, deployment: str) -> Mapping[str, int]:
    servers = [
        server
        for server in connection.compute.servers()
        if (server.metadata or {}).get(ownership.DEPLOYMENT_KEY) == deployment
    ]
    attached: list[list[dict[str, str]]] = [server.attached_volumes or [] for server in servers]
    volumes = [volume["id"] for volumes in attached for volume in volumes]
    tag = ownership.deployment_tag(deployment)
    return {
        "instances": len(servers),
        "cores": sum(server.flavor["vcpus"] for server in servers),
        "ram_mib": sum(server.flavor["ram"] for server in servers),
        "volumes": len(volumes),
        "gigabytes": sum(connection.block_storage.get_volume(volume).size for volume in volumes),
        "ports": len(list(connection.network.ports(tags=tag))),
        "floating_ips": len(list(connection.network.ips(tags=tag))),
    }


def limits(connection: Connection) -> dict[str, Limit]:
    """Return the project's limits as its services tell them."""
    compute = connection.compute.get_limits().absolute
    storage = connection.block_storage.get_limits().absolute
    network = connection.network.get_quota(connection.current_project_id or "", details=True)
    told = {name: getattr(network, name) for name in _NETWORK_QUOTAS}
    return {
        "instances": Limit(compute.instances, compute.instances_used),
        "cores": Limit(compute.total_cores, compute.total_cores_used),
        "ram_mib": Limit(compute.total_ram, compute.total_ram_used),
        "server_groups": Limit(compute.server_groups, compute.server_groups_used),
        "server_group_members": Limit(compute.server_group_members, 0),
        "volumes": Limit(storage.max_total_volumes, storage.total_volumes_used),
        "gigabytes": Limit(storage.max_total_volume_gigabytes, storage.total_gigabytes_used),
        **{name: Limit(quota["limit"], quota["used"]) for name, quota in told.items()},
    }
