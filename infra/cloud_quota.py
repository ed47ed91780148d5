"""A project's quota as the cloud's services tell it, under the names of `shadow_gpu_runners.quota`."""

from typing import TYPE_CHECKING

from shadow_gpu_runners.quota import Limit

if TYPE_CHECKING:
    from openstack.connection import Connection

_NETWORK = (
    "networks",
    "subnets",
    "routers",
    "ports",
    "floating_ips",
    "security_groups",
    "security_group_rules",
)
_WORDS = {"ram_mib": "ram MiB", "gigabytes": "volume GiB", "floating_ips": "floating IPs"}


def limits(connection: "Connection") -> dict[str, Limit]:
    """Return the limits of the connection's project, and what it uses of them."""
    compute = connection.compute.get_limits().absolute
    storage = connection.block_storage.get_limits().absolute
    network = connection.network.get_quota(connection.current_project_id or "", details=True)
    told = {name: getattr(network, name) for name in _NETWORK}
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


def words(name: str) -> str:
    """Return what a quota is called in a message."""
    return _WORDS.get(name, name.replace("_", " "))
