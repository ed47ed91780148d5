"""Faults for tests: services that die, hang or answer errors; failing hypervisor, storage, ports; reclaims.

What is switched on stays on until it is switched off, until `clear`, or until a reset. The context managers
switch off by themselves.
"""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from localcloud import guests
from localcloud.openstack import clouds, config, control, layout, ready, stubs
from localcloud.openstack.install import venv
from localcloud.openstack.services import APIS, WORKERS
from localcloud.processes import Service
from localcloud.world import World

Outcome = Literal["delete", "stop", "error"]
"""How a reclaimed server ends: gone (404), SHUTOFF or ERROR."""

_VOLUME_OPERATIONS = ("create", "delete", "extend", "snapshot", "attach", "detach")
NAMES = frozenset(
    {
        "spawn_delay",
        "spawn_fail",
        "destroy_delay",
        "destroy_fail",
        "bind_fail",
        "volume_free_gb",
        *(f"volume_{operation}_{kind}" for operation in _VOLUME_OPERATIONS for kind in ("delay", "fail")),
    }
)
"""Faults of the drivers. `*_delay` and `volume_free_gb` take a number, the others a text (the reason)."""


class UnknownFaultError(ValueError):
    """No driver or service has a fault of that name."""


def service(name: str) -> Service:
    """Service of the control plane by name.

    Raises:
        UnknownFaultError: there is none of that name.
    """
    known = control.known()
    if name not in known:
        raise UnknownFaultError(f"service {name!r} does not exist; expected one of {', '.join(known)}")
    return known[name]


def pause(name: str) -> None:
    """Stop a service's clock: connections are accepted by the kernel but nothing answers."""
    service(name).signal(signal.SIGSTOP)


def resume(name: str) -> None:
    """Undo `pause`."""
    service(name).signal(signal.SIGCONT)


def kill(name: str) -> None:
    """End a service by SIGKILL."""
    service(name).kill()


def stop(name: str) -> None:
    """End a service in good order."""
    service(name).stop()


def start(name: str, seconds: float = 90) -> None:
    """Start a service, ending a stand-in of `answer`; returns once it is ready (a worker: has reported)."""
    chosen = service(name)
    if name in APIS:
        stubs.stub(name).stop()
    chosen.start()
    chosen.wait_ready(seconds)
    if name in WORKERS:
        with clouds.connect() as admin:
            ready.wait_for(admin, control.known(), [name], seconds)


def answer(name: str, status: int = 503, retry_after_s: int = 1) -> None:
    """Let an API answer every request with one status; `start` undoes it."""
    if name not in APIS:
        raise UnknownFaultError(f"{name!r} is no API; expected one of {', '.join(APIS)}")
    service(name).stop()
    stand_in = stubs.stub(name, status, retry_after_s)
    stand_in.stop()
    stand_in.start()
    stand_in.wait_ready()


def token_seconds(seconds: int | None) -> None:
    """Let new tokens live so many seconds; None for the usual hour. Restarts Keystone."""
    config.token_file().unlink(missing_ok=True)
    if seconds is not None:
        config.token_file().write_text(str(seconds))
    config.write(venv(), World.load())
    stop("keystone")
    start("keystone")


def switch_on(name: str, value: str | float, *, project_id: str = "", volume_type: str = "") -> None:
    """Switch a driver's fault on, for all or for one project or one volume type only.

    One server or volume alone has the fault by its metadata `fault.<name>`.
    """
    path = _file(name, project_id, volume_type)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(value))


def switch_off(name: str, *, project_id: str = "", volume_type: str = "") -> None:
    """Undo `switch_on` with the same scope."""
    _file(name, project_id, volume_type).unlink(missing_ok=True)


def active() -> dict[str, str]:
    """Faults that are on, by name (with `.<project id>` where limited to one)."""
    return {path.name: path.read_text() for path in sorted(layout.faults().glob("*"))}


def clear() -> None:
    """Switch every fault off and bring every service back."""
    for path in layout.faults().glob("*"):
        path.unlink()
    if config.token_file().exists():
        token_seconds(None)
    stubs.stop_all()
    for name, known in control.known().items():
        if known.paused():
            resume(name)
        if not known.running():
            start(name)


@contextmanager
def switched_on(
    name: str, value: str | float, *, project_id: str = "", volume_type: str = ""
) -> Generator[None]:
    """Keep a driver's fault on within a `with` block."""
    switch_on(name, value, project_id=project_id, volume_type=volume_type)
    try:
        yield
    finally:
        switch_off(name, project_id=project_id, volume_type=volume_type)


@contextmanager
def without(name: str, how: Callable[[str], None] = stop) -> Generator[None]:
    """Let a service be stopped, killed, paused or answering errors within a `with` block."""
    try:
        how(name)
        yield
    finally:
        if service(name).paused():
            resume(name)
        start(name)


def announce_reclaim(server_id: str, notice_s: float = 900) -> None:
    """Tell the guest, by its metadata service only, that its server ends in `notice_s` seconds.

    Raises:
        FileNotFoundError: the server has no guest (yet).
    """
    guests.reclaim(server_id, notice_s)


def preempt(server_id: str, outcome: Outcome = "delete") -> None:
    """Take a spot server away as the cloud's operator does; the end of a reclaim."""
    with clouds.connect() as admin:
        if outcome == "delete":
            admin.compute.delete_server(server_id)
        elif outcome == "stop":
            admin.compute.stop_server(server_id)
        else:
            admin.compute.reset_server_state(server_id, "error")


def _file(name: str, project_id: str, volume_type: str) -> Path:
    if name not in NAMES:
        raise UnknownFaultError(f"fault {name!r} does not exist; expected one of {', '.join(sorted(NAMES))}")
    if volume_type:
        operation, _, kind = name.rpartition("_")
        name = f"{operation}_{volume_type}_{kind}"
    return layout.faults() / (f"{name}.{project_id}" if project_id else name)
