"""Clouds under test: a tenant of the local cloud, and the fake, behind the same few handles."""

import itertools
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

import yaml

from localcloud.openstack import clouds, faults
from localcloud.openstack.lab import Lab as Tenancy
from localcloud.openstack.proxy import FaultyProxy
from localcloud.openstack.seed import IMAGE
from localcloud.processes import wait_until
from shadow_autoscaler.adapters.openstack import BootVolume, Machine, OpenStackCloud, OpenStackSettings
from shadow_autoscaler.core.leftovers import Leftover, LeftoverKind
from shadow_autoscaler.core.machines import Server, ServerStatus
from shadow_autoscaler.ports import Cloud, ServerSpec
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import CloudTraits, FakeCloud

DEPLOYMENT = "acme.contract"
USER_DATA = "#cloud-config\n{}\n"
SMALL = "micro-c1m2"
FULL = "contract-more-cards-than-a-host-has"
"""A flavor that no host has room for."""
_SECONDS = 90
_numbers = itertools.count(1)


def new_vm() -> str:
    """Return a name that no other server has."""
    return f"gpu-{secrets.token_hex(3)}-{next(_numbers)}"


def spec(vm: str = "", *, flavor: str = SMALL, pool: str = "local", zone: str = "") -> ServerSpec:
    """Return what to create for a VM."""
    vm = vm or new_vm()
    marks = {"vm": vm, "pool": pool, "job": "github:acme/app:1:1"}
    return ServerSpec(vm, flavor, marks, USER_DATA, zone=zone, pool=pool)


class Lab(Protocol):
    """One cloud under test."""

    cloud: Cloud

    def settled(self, server: Server) -> Server:
        """Wait until a server is no longer being built."""
        ...

    def end(self, server: Server, how: faults.Outcome) -> None:
        """Take a server away as the cloud's operator does."""
        ...

    def until(self, met: Callable[[], bool]) -> bool:
        """Wait for something the cloud does; whether it came."""
        ...

    def abandon_port(self, vm: str) -> None:
        """Leave a port behind whose mark names that VM."""
        ...

    def limit_instances(self, number: int) -> None:
        """Set the quota."""
        ...


@dataclass(slots=True)
class RealLab:
    """A tenant of the local cloud."""

    tenancy: Tenancy
    cloud: Cloud
    settings: OpenStackSettings

    def with_settings(self, **changes: Any) -> OpenStackCloud:
        """Return a second adapter, as another process or configuration would have."""
        return OpenStackCloud(replace(self.settings, **changes))

    def settled(self, server: Server) -> Server:
        found: list[Server] = []

        def done() -> bool:
            shown = self.cloud.server(server.server_id)
            assert shown is not None, server
            found[:] = [shown]
            return shown.status is not ServerStatus.BUILDING

        assert wait_until(done, _SECONDS), found
        return found[0]

    def boot(self, wanted: ServerSpec) -> Server:
        """Create a server and wait until it is built."""
        return self.settled(self.cloud.create(wanted))

    def gone(self, server_id: str) -> bool:
        """Wait until the cloud says 404."""
        return wait_until(lambda: self.cloud.server(server_id) is None, _SECONDS)

    def end(self, server: Server, how: faults.Outcome) -> None:
        faults.preempt(server.server_id, how)

    def until(self, met: Callable[[], bool]) -> bool:
        return wait_until(met, _SECONDS)

    def abandon_port(self, vm: str) -> None:
        text = f"managed-by=shadow-gpu-runners deployment={DEPLOYMENT} component=autoscaler vm={vm}"
        body = {"port": {"network_id": self.tenancy.network_id, "description": text}}
        assert self.tenancy.connection.network.post("/ports", json=body).status_code == 201

    def limit_instances(self, number: int) -> None:
        set_quota(self.tenancy.tenant.project_id, instances=number)

    def raw(self, service: str, path: str) -> Any:
        """Return an API's own answer."""
        answer = getattr(self.tenancy.connection, service).get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def through(self, folder: Path, **proxies: FaultyProxy) -> OpenStackCloud:
        """Return an adapter that calls services through proxies: compute, network, block_storage."""
        entry = dict(clouds.entries()[self.tenancy.tenant.cloud])
        entry |= {f"{service}_endpoint_override": proxy.url for service, proxy in proxies.items()}
        file = folder / "clouds.yaml"
        file.write_text(yaml.safe_dump({"clouds": {self.settings.cloud: entry}}))
        file.chmod(0o600)
        return self.with_settings(clouds_file=str(file))

    def clean(self) -> None:
        """Remove every server, volume and port of the tenant, ours or not."""
        compute, storage = self.tenancy.connection.compute, self.tenancy.connection.block_storage
        self.tenancy.delete(*compute.servers(details=False))
        for port in self.raw("network", "/ports")["ports"]:
            self.tenancy.connection.network.delete(f"/ports/{port['id']}")
        for volume in list(storage.volumes(details=False)):
            storage.delete_volume(volume.id)
        assert wait_until(lambda: not list(storage.volumes(details=False)), _SECONDS)


@dataclass(slots=True)
class FakeLab:
    """The fake that other tests use."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    fake: FakeCloud = field(init=False)
    cloud: Cloud = field(init=False)

    def __post_init__(self) -> None:
        self.fake = FakeCloud(self.clock, traits=CloudTraits(flavors={SMALL: None, FULL: 0}))
        self.cloud = self.fake

    def settled(self, server: Server) -> Server:
        assert self.until(lambda: self._shown(server).status is not ServerStatus.BUILDING)
        return self._shown(server)

    def end(self, server: Server, how: faults.Outcome) -> None:
        if how == "delete":
            self.fake.vanish(server.server_id)
        else:
            self.fake.stop(server.server_id, "SHUTOFF" if how == "stop" else "ERROR")

    def until(self, met: Callable[[], bool]) -> bool:
        for _ in range(120):
            if met():
                return True
            self.clock.advance(1)
        return met()

    def abandon_port(self, vm: str) -> None:
        left = cast("dict[str, Leftover]", self.fake.remains())
        left["port-1"] = Leftover(LeftoverKind.PORT, "port-1", vm)

    def limit_instances(self, number: int) -> None:
        self.fake.traits.instances = number

    def _shown(self, server: Server) -> Server:
        shown = self.cloud.server(server.server_id)
        assert shown is not None
        return shown


def set_quota(project_id: str, **limits: int) -> None:
    """Change a tenant's limits in Nova, below what is in use too."""
    with clouds.connect() as admin:
        body = {"quota_set": {**limits, "force": True}}
        assert admin.compute.put(f"/os-quota-sets/{project_id}", json=body).status_code == 200


@contextmanager
def full_flavor() -> Generator[None]:
    """Have a flavor that no host has room for."""
    with clouds.connect() as admin:
        compute = admin.compute
        if left := compute.find_flavor(FULL):
            compute.delete_flavor(left)
        made = compute.create_flavor(name=FULL, vcpus=1, ram=1024, disk=1)
        compute.create_flavor_extra_specs(made, {"pci_passthrough:alias": "a4500:64"})
        yield
        compute.delete_flavor(made)


def machines(network: str) -> Mapping[str, Machine]:
    """Return the ways to build a server, by the name of a pool that uses each."""
    disk = BootVolume(20, "Wood", premade=True)
    local = Machine(IMAGE, network)
    return {
        "local": local,
        "disk": replace(local, volume=disk),
        "nova-disk": replace(local, volume=replace(disk, premade=False)),
        "port": replace(local, premade_port=True, security_groups=("default",)),
    }
