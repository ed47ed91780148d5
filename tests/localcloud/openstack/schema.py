"""Makes the databases and their tables, the services side by side."""

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from getpass import getuser
from pathlib import Path

from localcloud.openstack import config, database, layout, manage
from localcloud.openstack.services import environment
from localcloud.world import REGION, World


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a `*-manage` program."""

    arguments: list[str]
    accept: tuple[int, ...] = (0,)
    """Exit codes that count as done."""


def create(venv: Path, world: World) -> None:
    """Make every schema; safe to run again after it was interrupted."""
    database.execute("".join(f"CREATE DATABASE IF NOT EXISTS {name};" for name in layout.DATABASES))
    # By environment: a command line can be read by every user of the machine.
    secret = {"OS_BOOTSTRAP_PASSWORD": world.admin_password}
    jobs = {
        "nova.cmd.manage": _nova(),
        "keystone.cmd.manage": _keystone(),
        "neutron.db.migration.cli": [
            Step([*_files("neutron.conf", "ml2.ini"), "upgrade", "heads"]),
        ],
        "cinder.cmd.manage": [Step([*_files("cinder.conf"), "db", "sync"])],
        "glance.cmd.manage": [Step([*_files("glance-api.conf"), "db_sync"])],
        "placement.cmd.manage": [Step([*_files("placement.conf"), "db", "sync"])],
    }
    with ThreadPoolExecutor(len(jobs)) as pool:
        for outcome in [pool.submit(_run, venv, module, steps, secret) for module, steps in jobs.items()]:
            outcome.result()


def discover_hosts(venv: Path) -> None:
    """Map the compute hosts that have registered into the cell."""
    steps = [Step([*_files("nova.conf"), "cell_v2", "discover_hosts", "--by-service"])]
    _run(venv, "nova.cmd.manage", steps, {})


def _keystone() -> list[Step]:
    files, address = _files("keystone.conf"), f"{layout.url('keystone')}/v3"
    user = ["--keystone-user", getuser(), "--keystone-group", getuser()]
    urls = [part for kind in ("public", "internal", "admin") for part in (f"--bootstrap-{kind}-url", address)]
    return [
        Step([*files, "fernet_setup", *user]),
        Step([*files, "credential_setup", *user]),
        Step([*files, "db_sync"]),
        Step([*files, "bootstrap", "--bootstrap-region-id", REGION, *urls]),
    ]


def _nova() -> list[Step]:
    files = _files("nova.conf")
    cell0 = ["--database_connection", config.database_url("nova_cell0")]
    return [
        Step([*files, "api_db", "sync"]),
        Step([*files, "cell_v2", "map_cell0", *cell0]),
        # Exit code 2: made by an earlier, interrupted run.
        Step([*files, "cell_v2", "create_cell", "--name", "cell1"], accept=(0, 2)),
        Step([*files, "db", "sync"]),
    ]


def _files(*names: str) -> list[str]:
    return [part for name in names for part in ("--config-file", str(layout.etc() / name))]


def _run(venv: Path, module: str, steps: list[Step], env: dict[str, str]) -> None:
    # -P: modules of this folder must not hide those of OpenStack.
    command = [str(venv / "bin" / "python"), "-P", manage.__file__, module]
    plain = {"OS_NOVA_DISABLE_EVENTLET_PATCHING": "true"}
    with tempfile.TemporaryFile() as given:
        given.write(json.dumps([asdict(step) for step in steps]).encode())
        given.seek(0)
        database.run(command, module.partition(".")[0], environment({**plain, **env}), stdin=given)
