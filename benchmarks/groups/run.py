"""Times `pulumi preview` and `pulumi up` of N instance groups against a bare program with the same resources.

    eval "$(scripts/env)"; PYTHONPATH=tests .venv/bin/python benchmarks/groups/run.py --sizes 1 10 50

Both programs run in turn (A B A B …) in a tenant of their own; what is printed is the ratio of each pair,
since machines drift: of wall time, and of the CPU time of pulumi with all that it starts, which other load
disturbs less. Needs the local cloud (`scripts/localcloud up`).
"""

import argparse
import os
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcloud.openstack import tenants
from localcloud.openstack.clouds import connect
from localcloud.world import World

HERE = Path(__file__).parent
UNLIMITED = dict.fromkeys(tenants.DEFAULT_QUOTAS, -1)


def environment(tenant: tenants.Tenant, folder: Path) -> dict[str, str]:
    """Return what both programs read: tenant, network, security group, image and flavor."""
    with connect(tenant.cloud) as connection:
        network = connection.network.create_network(name="bench")
        connection.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.7.0.0/24")
        group = connection.network.create_security_group(name="bench")
        image = next(iter(connection.image.images(name="ubuntu-22.04-cuda")))
        flavor = next(f for f in connection.compute.flavors() if f.name == "micro-c1m2")
    return {
        **os.environ,
        **World.load().environment(tenant.cloud),
        "CLOUD": tenant.cloud,
        "REGION": World.load().region,
        "NETWORK": network.id,
        "SECURITY_GROUP": group.id,
        "IMAGE": image.id,
        "FLAVOR": flavor.id,
        "PULUMI_BACKEND_URL": f"file://{folder}",
        "PULUMI_CONFIG_PASSPHRASE": secrets.token_hex(8),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took, in seconds."""

    wall: float
    cpu: float
    """Of pulumi, the program and the plugins together."""


def timed(program: str, groups: int, env: dict[str, str], command: Sequence[str]) -> Cost:
    """Run `pulumi <command>` of one program in a fresh stack; return what it took."""
    folder, env = HERE / program, {**env, "GROUPS": str(groups)}
    _pulumi(folder, env, "stack", "init", "b")
    try:
        began, before = time.perf_counter(), _children_cpu()
        _pulumi(folder, env, *command, "--stack", "b")
        return Cost(time.perf_counter() - began, _children_cpu() - before)
    finally:
        if command[0] != "preview":
            _pulumi(folder, env, "destroy", "--yes", "--skip-preview", "--stack", "b")
        _pulumi(folder, env, "stack", "rm", "--yes", "b")


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _pulumi(folder: Path, env: dict[str, str], *arguments: str) -> None:
    done = subprocess.run(
        ["pulumi", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"pulumi {arguments[0]} failed in {folder}:\n{done.stdout}{done.stderr}")


def compare(groups: int, pairs: int, env: dict[str, str], command: Sequence[str]) -> str:
    """Return one table row: medians of both, and the median, least and largest ratio of wall and CPU time."""
    rows = [
        [timed(program, groups, env, command) for program in ("components", "bare")] for _ in range(pairs)
    ]
    ours, bare = (statistics.median(row[side].wall for row in rows) for side in (0, 1))
    wall = _spread([components.wall / other.wall for components, other in rows])
    cpu = _spread([components.cpu / other.cpu for components, other in rows])
    return f"| `{command[0]}` | {groups} | {ours:.1f} | {bare:.1f} | {wall} | {cpu} |"


def _spread(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--up", action="store_true", help="also time `up` (makes and removes the servers)")
    options = parser.parse_args()
    commands = [["preview"], *([["up", "--yes", "--skip-preview"]] if options.up else [])]
    tenant = tenants.make(f"bench-{secrets.token_hex(3)}", UNLIMITED)
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        env = environment(tenant, folder)
        print(
            "| command | groups | components s | bare s | wall ratio (least to largest) | CPU ratio |\n"
            "|---|---|---|---|---|---|"
        )
        for command in commands:
            for size in options.sizes:
                print(compare(size, options.pairs, env, command), flush=True)
    finally:
        tenant.delete()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
