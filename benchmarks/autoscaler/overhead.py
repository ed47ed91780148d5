"""Times create call to ACTIVE through the adapter against bare openstacksdk calls, in pairs.

    PYTHONPATH=tests:components/autoscaler .venv/bin/python benchmarks/autoscaler/overhead.py --pairs 10

Both ways make the same server in turn (A B, then B A, …) in a tenant of their own, polled every 200 ms.
What counts is the ratio within a pair, since machines drift. `--client N` leaves the cloud out: a stand-in of
Nova answers at once, and the difference is what the adapter itself costs a server. Needs the local cloud
(`scripts/localcloud up`).
"""

import argparse
import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from openstack.config import OpenStackConfig
from openstack.connection import Connection

from localcloud.openstack import clouds, tenants
from localcloud.openstack.lab import Lab
from localcloud.openstack.layout import url
from localcloud.openstack.proxy import FaultyProxy
from localcloud.openstack.seed import IMAGE
from shadow_autoscaler.adapters.openstack import BootVolume, Machine, OpenStackCloud, OpenStackSettings
from shadow_autoscaler.adapters.openstack_marks import Marks
from shadow_autoscaler.ports import ServerSpec

NAME = "bench-overhead"
FLAVOR = "micro-c1m2"
USER_DATA = "#cloud-config\n{}\n"
POLL_S = 0.2
GIB = 20


@dataclass(frozen=True, slots=True)
class Cost:
    """What one server took, in seconds."""

    wall: float
    cpu: float
    """Of this process."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A tenant, and both ways to make a server in it."""

    lab: Lab
    cloud: OpenStackCloud

    def adapter(self, pool: str) -> Cost:
        """Make and delete a server through the adapter."""
        vm = f"bench-{secrets.token_hex(4)}"
        spec = ServerSpec(vm, FLAVOR, {"vm": vm, "pool": pool, "job": "github:a/b:1:1"}, USER_DATA, pool=pool)
        with timed() as cost:
            server_id = self.cloud.create(spec).server_id
            while (shown := self.cloud.server(server_id)) is None or shown.raw_status != "ACTIVE":
                _check(shown.raw_status if shown else "BUILD")
                time.sleep(POLL_S)
        self.cloud.delete(server_id)
        _await(lambda: self.cloud.server(server_id) is None)
        for left in self.cloud.leftovers():
            self.cloud.remove(left)
        return cost()

    def bare(self, pool: str) -> Cost:
        """Make and delete the same server by the SDK's own calls; its boot volume is left to Nova."""
        compute = self.lab.connection.compute
        flavor = compute.find_flavor(FLAVOR, ignore_missing=False)
        wanted: dict[str, Any] = {"image_id": self.lab.image_id}
        if "disk" in pool:
            disk = {"boot_index": 0, "uuid": self.lab.image_id, "source_type": "image", "volume_size": GIB}
            kind = {"destination_type": "volume", "volume_type": "Wood", "delete_on_termination": True}
            wanted = {"block_device_mapping": [disk | kind]}
        with timed() as cost:
            server = compute.create_server(
                name="bench-bare",
                flavor_id=flavor.id,
                networks=[{"uuid": self.lab.network_id}],
                metadata={"owner": "bench"},
                config_drive=True,
                **wanted,
            )
            while (status := compute.get_server(server.id).status) != "ACTIVE":
                _check(status)
                time.sleep(POLL_S)
        self.lab.delete(server)
        return cost()


@contextmanager
def timed() -> Iterator[Callable[[], Cost]]:
    """Give what the block took, once it has ended."""
    wall, cpu = time.perf_counter(), time.process_time()
    ended: list[Cost] = []
    yield lambda: ended[0]
    ended.append(Cost(time.perf_counter() - wall, time.process_time() - cpu))


def main() -> None:
    """Print one row per pool."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--client", type=int, metavar="N", help="servers each way, without the cloud")
    parser.add_argument("--pools", nargs="*", default=["local", "disk", "nova-disk", "port"])
    chosen = parser.parse_args()
    if NAME in clouds.entries():
        tenants.find(NAME).delete()
    lab = Lab.open(tenants.make(NAME))
    try:
        if chosen.client:
            print(client_only(lab, chosen.client))
            return
        bench = Bench(lab, OpenStackCloud(_settings(lab.network_id)))
        print("| pool | adapter s | bare s | ratio (quartiles) | adapter CPU ms | bare CPU ms |")
        print("|---|---|---|---|---|---|")
        for pool in chosen.pools:
            print(_row(bench, pool, chosen.pairs), flush=True)
    finally:
        lab.connection.close()
        lab.tenant.delete()


def _row(bench: Bench, pool: str, pairs: int) -> str:
    bench.adapter(pool), bench.bare(pool)
    adapter, bare = list[Cost](), list[Cost]()
    for number in range(pairs):
        first = number % 2 == 0
        if first:
            adapter.append(bench.adapter(pool))
        bare.append(bench.bare(pool))
        if not first:
            adapter.append(bench.adapter(pool))
    ratios = sorted(ours.wall / theirs.wall for ours, theirs in zip(adapter, bare, strict=True))
    low, middle, high = statistics.quantiles(ratios, n=4)
    walls = " | ".join(f"{statistics.median(cost.wall for cost in each):.2f}" for each in (adapter, bare))
    cpus = " | ".join(
        f"{statistics.median(cost.cpu for cost in each) * 1000:.0f}" for each in (adapter, bare)
    )
    return f"| {pool} | {walls} | {middle:.3f} ({low:.3f} to {high:.3f}) | {cpus} |"


def client_only(lab: Lab, number: int) -> str:
    """Return what a create call and one look at the server cost this process, each way."""
    marks = Marks("bench").metadata({"vm": "vm"})
    active = {
        "id": "1",
        "name": "x",
        "status": "ACTIVE",
        "metadata": marks,
        "created": "2026-11-30T12:00:00Z",
    }
    with FaultyProxy(f"{url('nova-api')}/v2.1") as nova, TemporaryDirectory() as folder:
        nova.rule("POST", r"/servers$", status=202, body={"server": {"id": "1"}}, times=10**9)
        nova.rule("GET", r"/servers/1$", status=200, body={"server": active}, times=10**9)
        entry = {**clouds.entries()[NAME], "compute_endpoint_override": nova.url}
        file = Path(folder) / "clouds.yaml"
        file.write_text(yaml.safe_dump({"clouds": {NAME: entry}}))
        cloud = OpenStackCloud(replace(_settings(lab.network_id), clouds_file=str(file)))
        bare = Connection(
            config=OpenStackConfig(config_files=[str(file)], load_envvars=False).get_one(cloud=NAME)
        ).compute
        ways: dict[str, Callable[[], None]] = {
            "adapter": lambda: _adapter_once(cloud),
            "bare": lambda: _bare_once(bare, lab),
        }
        costs = {name: list[Cost]() for name in ways}
        for _ in range(number + 1):
            for name, way in ways.items():
                with timed() as cost:
                    way()
                costs[name].append(cost())
    return "\n".join(
        f"{name}: median {statistics.median(cost.wall for cost in each[1:]) * 1000:.1f} ms a server"
        for name, each in costs.items()
    )


def _adapter_once(cloud: OpenStackCloud) -> None:
    spec = ServerSpec("vm", FLAVOR, {"vm": "vm", "pool": "p", "job": "github:a/b:1:1"}, USER_DATA)
    cloud.server(cloud.create(spec).server_id)


def _bare_once(compute: Any, lab: Lab) -> None:
    wanted = {"image_id": lab.image_id, "networks": [{"uuid": lab.network_id}], "flavor_id": "1"}
    compute.get_server(compute.create_server(name="vm", metadata={"a": "b"}, config_drive=True, **wanted).id)


def _settings(network: str) -> OpenStackSettings:
    local, disk = Machine(IMAGE, network), BootVolume(GIB, "Wood", premade=True)
    pools = {
        "local": local,
        "disk": Machine(IMAGE, network, volume=disk),
        "nova-disk": Machine(IMAGE, network, volume=BootVolume(GIB, "Wood")),
        "port": Machine(IMAGE, network, premade_port=True),
    }
    return OpenStackSettings("bench", NAME, local, pools, clouds_file=str(clouds.path()))


def _await(met: Callable[[], bool]) -> None:
    while not met():
        time.sleep(POLL_S)


def _check(status: str) -> None:
    if status != "BUILD":
        raise RuntimeError(f"a server is {status}, expected ACTIVE: is the local cloud well?")


if __name__ == "__main__":
    main()
