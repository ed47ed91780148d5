"""Renders the services' configuration files and tells whether existing state fits them."""

import uuid
from dataclasses import asdict
from pathlib import Path

import jinja2

from localcloud.openstack import layout
from localcloud.paths import content_hash, log_dir, repository
from localcloud.world import REGION, World, write_private

HERE = Path(__file__).parent
TEMPLATES = HERE / "etc"
DRIVERS = HERE / "drivers"
_TOKEN_SECONDS = 3600
_NODES = uuid.UUID("5b0a7a0e-6b83-4a7c-9d0c-6a3a3c2f6f10")
_FOLDERS = ("cinder", "glance/images", "fernet", "credential", "lock", "neutron", "rabbit")


def fingerprint() -> str:
    """Hash of everything that existing state depends on: release, templates, drivers, layout."""
    sources = sorted(
        path for folder in (TEMPLATES, DRIVERS) for path in folder.rglob("*.*") if path.is_file()
    )
    kept = [path for path in sources if "__pycache__" not in path.parts and path.suffix != ".md"]
    shape = repr(
        (layout.PORTS, [asdict(host) for host in layout.HOSTS], layout.GPU_PRODUCTS, layout.DATABASES)
    )
    return content_hash(repository() / "requirements" / "openstack.txt", *kept, shape)


def write(venv: Path, world: World) -> None:
    """Write every configuration file; they hold passwords, so only the owner may read them."""
    for folder in _FOLDERS:
        (layout.data() / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    layout.faults().mkdir(parents=True, exist_ok=True)
    templates, values = _templates(), _values(venv, world)
    for path in TEMPLATES.glob("*.*.j2"):
        if path.name != "compute.conf.j2":
            write_private(layout.etc() / path.stem, templates.get_template(path.name).render(values))
    for host in layout.HOSTS:
        text = templates.get_template("compute.conf.j2").render(values, host=host)
        write_private(layout.etc() / f"{host.service}.conf", text)
        # Nova refuses to start where its node is known to the database but not to the disk.
        write_private(layout.data() / f"nova-{host.name}" / "compute_id", str(uuid.uuid5(_NODES, host.name)))
    # The first file that nova-api is given must be its paste file.
    write_private(layout.etc() / "api-paste.ini", (venv / "etc/nova/api-paste.ini").read_text())


def token_seconds() -> int:
    """How long Keystone's tokens live: an hour, or what a test has set."""
    try:
        return int(token_file().read_text())
    except FileNotFoundError:
        return _TOKEN_SECONDS


def token_file() -> Path:
    """File with a token life other than the usual."""
    return layout.home() / "token_seconds"


def database_url(name: str) -> str:
    """SQLAlchemy address of one database."""
    return f"mysql+pymysql://root@localhost/{name}?unix_socket={layout.socket()}&charset=utf8"


def broker_url() -> str:
    """Address of the message broker, loopback only, with the broker's built-in account."""
    return f"rabbit://guest:guest@127.0.0.1:{layout.PORTS['rabbit']}/"


def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - configuration files, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _values(venv: Path, world: World) -> dict[str, object]:
    return {
        "db": database_url,
        "url": layout.url,
        "broker": broker_url(),
        "controller": layout.CONTROLLER,
        "data": layout.data(),
        "gpu_products": layout.GPU_PRODUCTS,
        "log": log_dir(),
        "nvidia": layout.NVIDIA,
        "password": world.admin_password,
        "ports": layout.PORTS,
        "region": REGION,
        "token_seconds": token_seconds(),
        "venv": venv,
    }
