"""What the empty cloud offers: zones, flavors, image, external network, volume types, the tenant acme-ci."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from localcloud.openstack import clouds, layout, tenants
from localcloud.paths import content_hash
from localcloud.world import CONTROLLER_CLOUD, TENANT_CLOUD
from shadow_autoscaler.adapters.openstack_access_rules import access_rules
from shadow_gpu_runners import catalog as offers

if TYPE_CHECKING:
    from openstack.connection import Connection

TENANT = "acme-ci"
IMAGE = "ubuntu-22.04-cuda"
EXTERNAL_NETWORK = "ext-net"
VOLUME_TYPES = ("Wood", "Silver")
_RANGE = "203.0.113.0/24"
_GPU_ALIASES = {"2000": "rtx2000", "a4500": "a4500"}
_MORE_OFFERS = ("edge-c8m32-gpu-2000-2", "edge-c16m64-gpu-2000-4", "edge-c32m128-gpu-2000-8")


@dataclass(frozen=True, slots=True)
class Flavor:
    """A machine size; GPU machines have no local disk and boot from a volume, as at Shadow."""

    name: str
    vcpus: int
    ram_mib: int
    disk_gib: int = 0
    gpus: str = ""
    """PCI alias and number, `a4500:2`."""


def flavors() -> list[Flavor]:
    """Every offer of the catalog, on demand and preemptible, more cards of the small GPU, two without GPU."""
    names = [offers.FlavorName.parse(name) for name in (*offers.known_names(), *_MORE_OFFERS)]
    twins = {twin for name in names for twin in (name.on_demand(), name.preemptible())}
    gpu = [
        Flavor(str(name), name.vcpus, name.ram_gib * 1024, gpus=f"{_GPU_ALIASES[name.model]}:{name.cards}")
        for name in twins
    ]
    plain = [Flavor("micro-c1m2", 1, 2048, 10), Flavor("edge-c2m4", 2, 4096, 20)]
    return sorted([*gpu, *plain], key=lambda flavor: flavor.name)


def fingerprint() -> str:
    """Hash of everything that `apply` makes."""
    names = (TENANT, IMAGE, EXTERNAL_NETWORK, _RANGE, VOLUME_TYPES, dict(tenants.DEFAULT_QUOTAS))
    return content_hash(repr((flavors(), names, CONTROLLER_CLOUD, access_rules())))


def apply(admin: "Connection") -> None:
    """Make what is missing; safe to run again."""
    _zones(admin)
    _flavors(admin)
    _image(admin)
    _external_network(admin)
    _volume_types(admin)
    missing = {TENANT_CLOUD, CONTROLLER_CLOUD} - clouds.entries().keys()
    if missing or not clouds.identity(admin).find_project(TENANT):
        tenants.make(TENANT, cloud=TENANT_CLOUD, restricted={CONTROLLER_CLOUD: access_rules()})


def _zones(admin: "Connection") -> None:
    known = {aggregate.name for aggregate in admin.compute.aggregates()}
    for host in layout.HOSTS:
        if host.zone not in known:
            aggregate = admin.compute.create_aggregate(name=host.zone, availability_zone=host.zone)
            admin.compute.add_host_to_aggregate(aggregate, host.name)


def _flavors(admin: "Connection") -> None:
    known = {flavor.name for flavor in admin.compute.flavors(details=False)}
    for flavor in flavors():
        if flavor.name in known:
            continue
        made = admin.compute.create_flavor(
            name=flavor.name, vcpus=flavor.vcpus, ram=flavor.ram_mib, disk=flavor.disk_gib
        )
        if flavor.gpus:
            admin.compute.create_flavor_extra_specs(made, {"pci_passthrough:alias": flavor.gpus})


def _image(admin: "Connection") -> None:
    if admin.image.find_image(IMAGE):
        return
    image = admin.image.create_image(
        name=IMAGE,
        disk_format="raw",
        container_format="bare",
        visibility="public",
        allow_duplicates=True,
        os_distro="ubuntu",
        os_version="22.04",
        data=bytes(64 * 1024),
    )
    admin.image.wait_for_status(image, "active", interval=0.2, wait=30)


def _external_network(admin: "Connection") -> None:
    network = admin.network.find_network(EXTERNAL_NETWORK) or admin.network.create_network(
        name=EXTERNAL_NETWORK,
        is_router_external=True,
        provider_network_type="flat",
        provider_physical_network="external",
    )
    if not list(admin.network.subnets(network_id=network.id)):
        admin.network.create_subnet(
            name=EXTERNAL_NETWORK, network_id=network.id, ip_version=4, cidr=_RANGE, is_dhcp_enabled=False
        )


def _volume_types(admin: "Connection") -> None:
    known = {kind.name for kind in admin.block_storage.types()}
    for name in VOLUME_TYPES:
        if name not in known:
            admin.block_storage.create_type(name=name, extra_specs={"volume_backend_name": "disks"})
