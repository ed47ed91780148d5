"""Stand-ins that answer an error on the port of an API."""

import sys

from localcloud.openstack.layout import PORTS
from localcloud.openstack.services import APIS
from localcloud.paths import repository
from localcloud.processes import Service, port_open


def stub(name: str, status: int = 503, retry_after_s: int = 1) -> Service:
    """Service that answers every request on the API's port with one status."""
    port = PORTS[name]
    command = (
        sys.executable,
        "-m",
        "localcloud.openstack.answer",
        str(port),
        str(status),
        str(retry_after_s),
    )
    path = {"PYTHONPATH": str(repository() / "tests")}
    return Service(f"{name}-error", command, path, lambda: port_open(port), (port,))


def stop_all() -> None:
    """End every stand-in."""
    for name in APIS:
        stub(name).stop()
