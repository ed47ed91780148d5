"""Does the plan fit the project's quota, with what this deployment already uses counted once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openstack.connection import Connection

from cloud_quota import limits, words
from preflight.findings import Finding
from settings import Settings
from shadow_gpu_runners import ownership
from shadow_gpu_runners.controller_boot import BOOT_VOLUME_GIB, DATA_VOLUME_GIB


@dataclass(frozen=True, slots=True)
class _Machines:
    """Machines of one kind that the stack itself makes; the autoscaler waits for quota by itself."""

    count: int
    flavor: str
    volumes_gib: tuple[int, ...]
    public: bool


def check(connection: Connection, settings: Settings, deployment: str) -> Iterable[Finding]:
    """Yield one finding per quota that the stack's machines exceed; what `deployment` has is counted once."""
    own = _own_use(connection, deployment)
    known = limits(connection)
    who = "pools and the controller" if settings.autoscaler else "pools"
    for name, wanted in _needs(connection, _machines(settings)).items():
        room = known[name].limit - known[name].used + own[name]
        if known[name].limit >= 0 and wanted > room:
            yield Finding(
                f"pools (quota of {words(name)})",
                f"the {who} need {wanted}, the project has room for {room}",
                "lower a pool's count or size, or ask the operator for more",
            )


def _machines(settings: Settings) -> list[_Machines]:
    found = [
        _Machines(pool.count, pool.flavor, (pool.volume.size,), pool.floating_ip) for pool in settings.pools
    ]
    if controller := settings.autoscaler:
        sizes = BOOT_VOLUME_GIB, DATA_VOLUME_GIB
        found.append(_Machines(1, controller.flavor, sizes, controller.floating_ip))
    return found


def _needs(connection: Connection, machines: list[_Machines]) -> dict[str, int]:
    flavors = {flavor.name: flavor for flavor in connection.compute.flavors()}
    sized = [(each.count, flavors.get(each.flavor)) for each in machines]
    instances = sum(each.count for each in machines)
    return {
        "instances": instances,
        "cores": sum(count * flavor.vcpus for count, flavor in sized if flavor),
        "ram_mib": sum(count * flavor.ram for count, flavor in sized if flavor),
        "volumes": sum(each.count * len(each.volumes_gib) for each in machines),
        "gigabytes": sum(each.count * sum(each.volumes_gib) for each in machines),
        "ports": instances,
        "floating_ips": sum(each.count for each in machines if each.public),
    }


def _own_use(connection: Connection, deployment: str) -> Mapping[str, int]:
    jobs = ownership.MADE_BY_AUTOSCALER
    servers = [
        server
        for server in connection.compute.servers()
        if ownership.is_marked(server.metadata, deployment)
        and not ownership.is_marked(server.metadata, deployment, jobs)
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
