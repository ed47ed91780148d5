"""The shape of the cloud: ports, hosts with their GPUs, folders."""

from dataclasses import dataclass
from pathlib import Path

from localcloud.paths import port, state_home

PORTS = {
    "keystone": port(5000),
    "glance": port(9292),
    "placement": port(8778),
    "nova-api": port(8774),
    "neutron": port(9696),
    "cinder-api": port(8776),
    "rabbit": port(5672),
    "rabbit-distribution": port(25672),
    "epmd": port(4370),
}
CONTROLLER = "controller"
"""Host name of the services that aren't compute hosts."""

DATABASES = ("keystone", "glance", "placement", "nova_api", "nova_cell0", "nova_cell1", "neutron", "cinder")
VOLUME_POOL = f"{CONTROLLER}@disks#disks"
NVIDIA = "10de"
GPU_PRODUCTS = {"rtx2000": "28b0", "a4500": "2232"}
"""PCI product ids by the alias that flavors ask for."""


@dataclass(frozen=True, slots=True)
class Host:
    """A compute host, alone in its availability zone."""

    name: str
    zone: str
    gpus: tuple[tuple[str, int], ...]
    """PCI alias and number of cards."""

    @property
    def service(self) -> str:
        """Name of the host's nova-compute service."""
        return f"compute-{self.name}"

    @property
    def pci(self) -> str:
        """`vendor:product:count` of each kind of card, comma-separated, for the virt driver."""
        return ",".join(f"{NVIDIA}:{GPU_PRODUCTS[alias]}:{count}" for alias, count in self.gpus)


HOSTS = (
    Host("host1", "zone-a", (("rtx2000", 8), ("a4500", 16))),
    Host("host2", "zone-b", (("rtx2000", 8), ("a4500", 8))),
)


def home() -> Path:
    """Folder of the control plane's own state."""
    return state_home() / "openstack"


def etc() -> Path:
    """Folder of the rendered configuration."""
    return home() / "etc"


def data() -> Path:
    """Folder of databases, images, keys and locks."""
    return home() / "data"


def snapshot() -> Path:
    """Folder that holds the empty cloud for a reset."""
    return home() / "snapshot"


def faults() -> Path:
    """Folder of the switched-on faults, one file each, read by the drivers at every operation."""
    return home() / "faults"


def socket() -> Path:
    """Unix socket of the database."""
    return home() / "db.sock"


def url(service: str) -> str:
    """Address of an API service."""
    return f"http://127.0.0.1:{PORTS[service]}"
