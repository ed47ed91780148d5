"""A tenant with a network and short calls for tests that need servers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from localcloud.openstack.seed import IMAGE
from localcloud.openstack.tenants import Tenant
from localcloud.processes import wait_until

if TYPE_CHECKING:
    from openstack.compute.v2.server import Server
    from openstack.connection import Connection

_SETTLE_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Lab:
    """A logged-in tenant and a network to boot into."""

    tenant: Tenant
    connection: "Connection"
    network_id: str
    subnet_id: str
    image_id: str

    @classmethod
    def open(cls, tenant: Tenant, cidr: str = "10.77.0.0/24") -> Self:
        """Log in and make the network."""
        connection = tenant.connect()
        network = connection.network.create_network(name="lab")
        subnet = connection.network.create_subnet(name="lab", network_id=network.id, ip_version=4, cidr=cidr)
        image = connection.image.find_image(IMAGE, ignore_missing=False)
        return cls(tenant, connection, network.id, subnet.id, image.id)

    def create(self, name: str, flavor: str, *, volume_type: str = "Wood", **more: Any) -> "Server":
        """Ask for a server that boots from a new volume; returns at once.

        Args:
            name: Of the server.
            flavor: By name.
            volume_type: Of the 20 GiB boot volume, which goes with the server.
            more: Further arguments of the create call.
        """
        disk = {
            "boot_index": 0,
            "uuid": self.image_id,
            "source_type": "image",
            "destination_type": "volume",
            "volume_size": 20,
            "volume_type": volume_type,
            "delete_on_termination": True,
        }
        return self.connection.compute.create_server(
            name=name,
            flavor_id=self.connection.compute.find_flavor(flavor, ignore_missing=False).id,
            networks=[{"uuid": self.network_id}],
            block_device_mapping=[disk],
            **more,
        )

    def settled(self, server: "Server") -> "Server":
        """Wait until the server is ACTIVE, SHUTOFF or ERROR and return it as it is then."""
        compute = self.connection.compute
        ends = ("ACTIVE", "SHUTOFF", "ERROR")
        if not wait_until(lambda: compute.get_server(server.id).status in ends, _SETTLE_SECONDS):
            raise TimeoutError(f"server {server.id} has not settled in {_SETTLE_SECONDS} s")
        return compute.get_server(server.id)

    def boot(self, name: str, flavor: str, **more: Any) -> "Server":
        """Create a server and wait until it has settled."""
        return self.settled(self.create(name, flavor, **more))

    def delete(self, *servers: "Server") -> None:
        """Delete servers and wait until they are gone."""
        compute = self.connection.compute
        for server in servers:
            compute.delete_server(server.id)
        ids = {server.id for server in servers}
        if not wait_until(
            lambda: ids.isdisjoint(left.id for left in compute.servers(details=False)), _SETTLE_SECONDS
        ):
            raise TimeoutError(f"servers {ids} are not gone after {_SETTLE_SECONDS} s")
