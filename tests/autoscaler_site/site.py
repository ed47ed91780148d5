"""A configuration on disk, and the real server in a thread of the test's own process."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from autoscaler_site.outside import HOOK, KEY, LABELS, STATUS, Outside
from shadow_autoscaler.adapters import github_events
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.edge import config as configuration
from shadow_autoscaler.edge.serve import Running, running
from shadow_autoscaler.edge.wiring import Base
from shadow_autoscaler.runtime.reads import Pace
from shadow_autoscaler.runtime.service import World

PACE = Pace(tick=0.1, servers=0.1, jobs=0.3, leftovers=0.5, quota=1.0, redelivery=5.0)
SPOT, ON_DEMAND = "edge-preemptible-c4m16-gpu-2000-1", "edge-c4m16-gpu-2000-1"


def write(folder: Path, **changes: Any) -> Path:
    """Write a good configuration with its secrets and template; return its path."""
    secrets = folder / "secrets"
    secrets.mkdir(parents=True, exist_ok=True)
    for name, value in {"callback-key": KEY, "hook": HOOK, "status": STATUS, "github": "t" * 40}.items():
        (secrets / name).write_text(value)
    (folder / "pool.yaml").write_text("#cloud-config\n# @SHADOW_VM@ @SHADOW_TICKET@ @SHADOW_CALLBACK@\n")
    file = folder / "autoscaler.yaml"
    file.write_text(yaml.safe_dump(document() | changes))
    return file


def document() -> dict[str, Any]:
    """Return the configuration."""
    ladder = [
        {"flavor": SPOT, "market": "spot", "eur_per_hour": 0.29, "vcpus": 4, "ram_mib": 16_384},
        {"flavor": ON_DEMAND, "market": "on-demand", "eur_per_hour": 0.45, "vcpus": 4, "ram_mib": 16_384},
    ]
    pool = {"name": "rtx2000", "forge": "github", "labels": list(LABELS), "ladder": ladder, "max": 3}
    return {
        "deployment": "acme-ci",
        "callback_url": "http://127.0.0.1",
        "listen": {"port": 0},
        "store": {"path": "autoscaler.db"},
        "secrets": {"directory": "secrets"},
        "status_token": "status",
        "github": {"owner": "acme", "token": "github", "webhook_secret": "hook"},
        "openstack": {"cloud": "none", "image": "ubuntu", "network_id": "net"},
        "pools": [pool | {"user_data_file": "pool.yaml", "cooldown": "1s"}],
        "sweep_grace": 1,
    }


def world(outside: Outside) -> World:
    """Return the adapters that lead outside."""
    return World(
        cloud=outside.locked(outside.cloud),
        forges={ForgeKind.GITHUB: outside.locked(outside.github)},
        translate={ForgeKind.GITHUB: github_events.events},
        user_data=lambda vm: f"#cloud-config {vm.name}",
        pace=PACE,
    )


@contextmanager
def site(file: Path, outside: Outside, adapters: World | None = None) -> Generator[Running]:
    """Serve on loopback until the block ends."""
    base = Base.of(configuration.load(file), file.parent)
    with running(base, adapters or world(outside)) as server:
        thread = threading.Thread(target=lambda: asyncio.run(server.answer()))
        outside.url = f"http://127.0.0.1:{server.port}"
        thread.start()
        try:
            yield server
        finally:
            server.web.should_exit = True
            thread.join(30)
    base.store.close()  # type: ignore[attr-defined]
