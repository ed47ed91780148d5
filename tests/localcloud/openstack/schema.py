"""Makes the databases and their tables, the services side by side."""

from concurrent.futures import ThreadPoolExecutor
from getpass import getuser
from pathlib import Path

from localcloud.openstack import config, database, layout
from localcloud.openstack.services import environment
from localcloud.world import REGION, World


def create(venv: Path, world: World) -> None:
    """Make every schema; safe to run again after it was interrupted."""
    database.execute("".join(f"CREATE DATABASE IF NOT EXISTS {name};" for name in layout.DATABASES))
    steps = [
        lambda: _nova(venv),
        lambda: _neutron(venv),
        lambda: _keystone(venv, world),
        lambda: _cinder(venv),
        lambda: _glance(venv),
        lambda: _placement(venv),
    ]
    with ThreadPoolExecutor(len(steps)) as pool:
        for outcome in [pool.submit(step) for step in steps]:
            outcome.result()


def discover_hosts(venv: Path) -> None:
    """Map the compute hosts that have registered into the cell."""
    _manage(venv, "nova", _nova_files(), "cell_v2", "discover_hosts", "--by-service")


def fernet_keys(venv: Path) -> None:
    """Make the keys that tokens are signed with, unless they exist."""
    user = ("--keystone-user", getuser(), "--keystone-group", getuser())
    for setup in ("fernet_setup", "credential_setup"):
        _manage(venv, "keystone", _files("keystone.conf"), setup, *user)


def _keystone(venv: Path, world: World) -> None:
    fernet_keys(venv)
    files, address = _files("keystone.conf"), f"{layout.url('keystone')}/v3"
    _manage(venv, "keystone", files, "db_sync")
    urls = [part for kind in ("public", "internal", "admin") for part in (f"--bootstrap-{kind}-url", address)]
    # By environment: a command line can be read by every user of the machine.
    secret = {"OS_BOOTSTRAP_PASSWORD": world.admin_password}
    _manage(venv, "keystone", files, "bootstrap", "--bootstrap-region-id", REGION, *urls, env=secret)


def _nova(venv: Path) -> None:
    files = _nova_files()
    _manage(venv, "nova", files, "api_db", "sync")
    cell0 = config.database_url("nova_cell0")
    _manage(venv, "nova", files, "cell_v2", "map_cell0", "--database_connection", cell0)
    # Exit code 2: made by an earlier, interrupted run.
    _manage(venv, "nova", files, "cell_v2", "create_cell", "--name", "cell1", accept=(0, 2))
    _manage(venv, "nova", files, "db", "sync")


def _neutron(venv: Path) -> None:
    program = str(venv / "bin" / "neutron-db-manage")
    command = [program, *_files("neutron.conf"), *_files("ml2.ini"), "upgrade", "heads"]
    database.run(command, "neutron", environment())


def _cinder(venv: Path) -> None:
    _manage(venv, "cinder", _files("cinder.conf"), "db", "sync")


def _glance(venv: Path) -> None:
    _manage(venv, "glance", _files("glance-api.conf"), "db_sync")


def _placement(venv: Path) -> None:
    _manage(venv, "placement", _files("placement.conf"), "db", "sync")


def _nova_files() -> list[str]:
    return _files("nova.conf")


def _files(name: str) -> list[str]:
    return ["--config-file", str(layout.etc() / name)]


def _manage(
    venv: Path,
    service: str,
    files: list[str],
    *arguments: str,
    env: dict[str, str] | None = None,
    accept: tuple[int, ...] = (0,),
) -> None:
    plain = {"OS_NOVA_DISABLE_EVENTLET_PATCHING": "true"}
    command = [str(venv / "bin" / f"{service}-manage"), *files, *arguments]
    database.run(command, service, environment({**plain, **(env or {})}), accept=accept)
