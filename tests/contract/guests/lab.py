"""A guest agent over servers in memory, with guests in a temporary folder: no OpenStack needed."""

import base64
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from localcloud.guests import cli
from localcloud.guests.agent import Agent
from localcloud.guests.guest import Guest, read_json
from localcloud.guests.memory import MemoryServers
from localcloud.guests.sandbox import pid_namespace
from localcloud.guests.servers import Address, Server

FLAVOR = "edge-c4m16-gpu-2000-1"
_SECONDS = 120.0


def encoded(user_data: str | bytes) -> str:
    """User-data as Nova stores it."""
    raw = user_data.encode() if isinstance(user_data, str) else user_data
    return base64.b64encode(raw).decode()


class Lab:
    """Servers, the agent that follows them, and what tests ask of guests."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.servers = MemoryServers()
        self.agent = Agent(self.servers, home)

    def add(
        self,
        user_data: str | bytes = "",
        *,
        name: str = "gpu-0",
        flavor: str = FLAVOR,
        volumes: tuple[str, ...] = (),
        **meta: str,
    ) -> Guest:
        """Make an ACTIVE server; its guest boots at the next tick."""
        server = Server(
            id=str(uuid.uuid4()),
            name=name,
            status="ACTIVE",
            flavor=flavor,
            project_id="acme",
            metadata=meta,
            addresses=(
                Address("10.1.0.5", "ci", "fa:16:3e:00:00:01"),
                Address("203.0.113.7", "ci", "", "floating"),
            ),
            user_data=encoded(user_data) if user_data else "",
            volumes=volumes,
        )
        self.servers.add(server)
        return Guest(server.id, self.home)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the agent tick until the condition holds."""
        end = time.monotonic() + _SECONDS
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not within {_SECONDS:.0f} s: {what}")
            self.agent.tick()
            time.sleep(0.05)

    def up(self, guest: Guest) -> None:
        """Until the guest's services can be asked."""
        self.until(lambda: guest.process() and (guest.root / "run/systemd/private").exists(), "guest is up")

    def booted(self, guest: Guest) -> dict[str, Any]:
        """Until cloud-init has ended; the boot report."""
        self.until(
            lambda: report(guest).get("state") in {"done", "error"}, f"boot ends: {console(guest)[-900:]}"
        )
        return report(guest)

    def close(self) -> None:
        """End everything."""
        self.agent.close(kill=True)


def report(guest: Guest) -> dict[str, Any]:
    """The guest's boot report as the agent wrote it."""
    return read_json(guest.folder / "boot.json")


def console(guest: Guest) -> str:
    """What the guest wrote to its console."""
    return guest.console.read_text(errors="replace") if guest.console.exists() else ""


def sh(
    guest: Guest, script: str, *, user: str = "", container: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a shell script inside a guest or one of its containers."""
    return call(guest, ["bash", "-c", script], user=user, container=container)


def call(
    guest: Guest, words: Sequence[str], *, user: str = "", container: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a program inside a guest or one of its containers."""
    command = cli.inside(guest, words, user=user, container=container)
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL
    )


def pids_in(namespace: int) -> list[int]:
    """Processes that live in a pid namespace."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if pid_namespace(pid) == namespace]
