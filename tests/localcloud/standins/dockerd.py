"""`dockerd` and `containerd`: the socket that says that the daemon lives, and its firewall chains."""

import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from localcloud.standins import containers, iptables
from localcloud.standins.docker import DAEMON_SOCKET
from localcloud.standins.docker_run import DAEMON_JSON

_CONFIG = Path("/etc/docker/daemon.json")


def main(program: str, _arguments: Sequence[str]) -> int:
    """Run until stopped; an unreadable daemon.json ends it at once, as with the real daemon."""
    if program == "containerd":
        signal.pause()
        return 0
    try:
        config = json.loads(_CONFIG.read_text() if _CONFIG.exists() else "{}")
    except ValueError as error:
        sys.stderr.write(f"unable to configure the Docker daemon with file {_CONFIG}: {error}\n")
        return 1
    DAEMON_JSON.parent.mkdir(parents=True, exist_ok=True)
    DAEMON_JSON.write_text(json.dumps(config))
    _forget_ended()
    _make_chains()
    _serve()
    return 0


def _forget_ended() -> None:
    known = {container.id for container in containers.all_containers() if container.running()}
    for folder in containers.DISKS.glob("*"):
        if folder.name not in known:
            shutil.rmtree(folder, ignore_errors=True)


def _make_chains() -> None:
    """`FORWARD` jumps to `DOCKER-USER`, which stays as it is where it exists already."""
    quiet = ["-N", "DOCKER-USER"], ["-A", "DOCKER-USER", "-j", "RETURN"]
    path = iptables.RULES / "iptables.filter"
    if "-N DOCKER-USER" not in (path.read_text() if path.exists() else ""):
        for words in quiet:
            iptables.main("iptables", words)
    if "-A FORWARD -j DOCKER-USER" not in path.read_text():
        iptables.main("iptables", ["-I", "FORWARD", "-j", "DOCKER-USER"])


def _serve() -> None:
    DAEMON_SOCKET.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(DAEMON_SOCKET))
    DAEMON_SOCKET.chmod(0o660)
    listener.listen(64)
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.sendto(b"READY=1", address)
    while True:
        with suppress(OSError):
            listener.accept()[0].close()
