"""Does the plan fit the project's quota, with what this deployment already uses counted once."""

from collections.abc import Iterable, Mapping

from openstack.connection import Connection

from cloud_quota import limits, words
from preflight.findings import Finding
from settings import Settings
from shadow_gpu_runners import ownership


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
    servers = [s for s in connection.compute.servers() if ownership.is_marked(s.metadata, deployment)]
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
