"""What a tenant owns, and how to remove all of it in the right order."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localcloud.processes import wait_until

if TYPE_CHECKING:
    from openstack.connection import Connection

_GONE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Belonging:
    """One resource of a tenant."""

    kind: str
    id: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name or '-'} ({self.id})"


def belongings(tenant: "Connection") -> Iterator[Belonging]:
    """Everything a tenant owns but its default security group, in the order in which it can be removed."""
    project = tenant.current_project_id
    network = tenant.network
    listings: dict[str, Callable[[], Any]] = {
        "server": lambda: tenant.compute.servers(details=False),
        "floating IP": lambda: network.ips(project_id=project),
        "router": lambda: network.routers(project_id=project),
        "port": lambda: network.ports(project_id=project),
        "network": lambda: network.networks(project_id=project),
        "security group": lambda: _own_groups(tenant),
        "snapshot": lambda: tenant.block_storage.snapshots(details=False),
        "volume": lambda: tenant.block_storage.volumes(details=False),
        "server group": tenant.compute.server_groups,
        "keypair": tenant.compute.keypairs,
        "image": lambda: tenant.image.images(owner=project),
    }
    for kind, listing in listings.items():
        for found in listing():
            name = getattr(found, "floating_ip_address", None) or found.name
            yield Belonging(kind, found.id or found.name, name or "")


def empty(tenant: "Connection", admin: "Connection") -> None:
    """Remove everything that `belongings` lists; the administrator frees what is locked or stuck.

    Raises:
        TimeoutError: servers or volumes are still there after a minute.
    """
    owned = list(belongings(tenant))
    for item in owned:
        if item.kind == "server":
            with suppress(_not_found()):
                admin.compute.delete_server(item.id, force=True)
    _await_none(tenant.compute.servers, "servers")
    for kind, remove in _removers(tenant, admin).items():
        for item in owned:
            if item.kind == kind:
                with suppress(_not_found()):
                    remove(item.id)
    _await_none(tenant.block_storage.volumes, "volumes")


def security_groups(admin: "Connection", project_id: str) -> None:
    """Remove also the default group, which only goes with its project."""
    for group in admin.network.security_groups(project_id=project_id):
        admin.network.delete_security_group(group)


def _removers(tenant: "Connection", admin: "Connection") -> dict[str, Callable[[str], Any]]:
    network = admin.network
    return {
        "floating IP": network.delete_ip,
        "router": lambda router: _delete_router(admin, router),
        "port": network.delete_port,
        "network": network.delete_network,
        "security group": network.delete_security_group,
        "snapshot": lambda snapshot: tenant.block_storage.delete_snapshot(snapshot, force=True),
        "volume": lambda volume: admin.block_storage.delete_volume(volume, force=True),
        "server group": tenant.compute.delete_server_group,
        "keypair": tenant.compute.delete_keypair,
        "image": admin.image.delete_image,
    }


def _own_groups(tenant: "Connection") -> list[Any]:
    groups = tenant.network.security_groups(project_id=tenant.current_project_id)
    return [group for group in groups if group.name != "default"]


def _delete_router(admin: "Connection", router: str) -> None:
    admin.network.update_router(router, routes=[])
    for port in admin.network.ports(device_id=router):
        if port.device_owner == "network:router_interface":
            admin.network.remove_interface_from_router(router, port=port.id)
    admin.network.delete_router(router)


def _await_none(listing: Callable[..., Any], what: str) -> None:
    if not wait_until(lambda: not list(listing(details=False)), _GONE_SECONDS):
        left = [item.id for item in listing(details=False)]
        raise TimeoutError(f"{what} still there after {_GONE_SECONDS} s: {left}")


def _not_found() -> type[Exception]:
    from openstack.exceptions import NotFoundException  # noqa: PLC0415 - see clouds.connect

    return NotFoundException
