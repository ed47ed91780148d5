"""What the commands `up`, `down` and `reset` do."""

import fcntl
import os
import shutil
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from localcloud import extras, packages
from localcloud.openstack import control
from localcloud.paths import log_dir, state_home
from localcloud.processes import Service
from localcloud.progress import Progress
from localcloud.world import World

PARTS = ("openstack", *extras.NAMES)
_THROWN_AWAY = ("gitlab", "github", "packages", "guests", "volumes", "pulumi")


@contextmanager
def exclusive(progress: Progress) -> Generator[None]:
    """Let one command at a time change the cloud; a second one waits and says for whom."""
    state_home().mkdir(parents=True, exist_ok=True, mode=0o700)
    with (state_home() / "command.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            progress.say(f"waiting for another localcloud command to end (pid {lock.read().strip()})")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def up(progress: Progress, parts: Sequence[str] = PARTS) -> None:
    """Start what is not running; returns once everything answers."""
    with exclusive(progress):
        _up(progress, parts)


def down(progress: Progress, parts: Sequence[str] = PARTS) -> None:
    """Stop, the guests first and the control plane last; the state stays."""
    with exclusive(progress):
        _down(progress, parts)


def reset(progress: Progress) -> None:
    """Put the empty cloud, empty forges and no stack back, and start again."""
    with exclusive(progress):
        _down(progress, extras.NAMES)
        control.reset(progress)
        for name in _THROWN_AWAY:
            shutil.rmtree(state_home() / name, ignore_errors=True)
        for log in log_dir().glob("*.log"):
            log.unlink()
        _up(progress, PARTS)


def _up(progress: Progress, parts: Sequence[str]) -> None:
    World.ensure()
    services = {name: extras.service(name) for name in extras.NAMES if name in parts}
    _start(progress, [service for name, service in services.items() if name != "guests"])
    if "packages" in parts:
        progress.say("building the autoscaler's wheel, and fetching what it needs where that is not cached")
        packages.prepare()
    if "openstack" in parts:
        control.up(progress)
    _start(progress, services.values())
    for service in services.values():
        service.wait_ready()


def _start(progress: Progress, services: Iterable[Service]) -> None:
    for service in services:
        if service.start():
            progress.say(f"started {service.name}")


def _down(progress: Progress, parts: Sequence[str]) -> None:
    for name in reversed(extras.NAMES):
        if name in parts and extras.service(name).members():
            progress.say(f"stopping {name}")
            extras.service(name).stop()
    if "openstack" in parts:
        control.down(progress)
