"""Who has opened a loopback connection: found by socket, process and pid namespace."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from localcloud.guests.firewall import Requester
from localcloud.guests.sandbox import pid_namespace

_NS_GET_PARENT = 0xB702
_CONTAINERS = "run/docker/containers"


def requester(client: tuple[str, int], server_port: int, guest_pid: int, root: Path) -> Requester | None:
    """The requester behind a connection to a guest's metadata service; None where it isn't of that guest.

    `client` is the connection's far end; `guest_pid` the guest's process 1; `root` its root folder.
    """
    found = _socket(client[1], server_port)
    if found is None:
        return None
    uid, inode = found
    own = pid_namespace(guest_pid)
    for pid in _holders(inode):
        chain = _namespaces(pid)
        if own is not None and own in chain:
            inner = chain[0] if chain[0] != own else None
            return Requester(uid, in_container=inner is not None and inner not in _on_host_network(root))
    return None


def _socket(client_port: int, server_port: int) -> tuple[int, int] | None:
    """User id and inode of the client's socket."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote = (int(fields[i].rpartition(":")[2], 16) for i in (1, 2))
        if (local, remote) == (client_port, server_port) and fields[9] != "0":
            return int(fields[7]), int(fields[9])
    return None


def _holders(inode: int) -> Iterator[int]:
    wanted = f"socket:[{inode}]"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with (
            suppress(FileNotFoundError, ProcessLookupError, PermissionError),
            os.scandir(entry / "fd") as descriptors,
        ):
            if any(_link(descriptor) == wanted for descriptor in descriptors):
                yield int(entry.name)


def _link(descriptor: os.DirEntry[str]) -> str:
    try:
        return str(Path(descriptor.path).readlink())
    except FileNotFoundError:
        return ""


def _namespaces(pid: int) -> list[int]:
    """Inodes of the process's pid namespace and of all that it lies in, innermost first."""
    found = list[int]()
    try:
        descriptor = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return [-1]
    while True:
        found.append(os.fstat(descriptor).st_ino)
        try:
            outer = fcntl.ioctl(descriptor, _NS_GET_PARENT)
        except PermissionError:  # the outermost namespace that we may see
            return found
        finally:
            os.close(descriptor)
        descriptor = outer


def _on_host_network(root: Path) -> set[int]:
    """Pid namespaces of the containers that run with `--network host`."""
    found = set[int]()
    for record in (root / _CONTAINERS).glob("*.json"):
        with suppress(FileNotFoundError, ValueError, KeyError):
            container = json.loads(record.read_text())
            if container["network"] == "host":
                found.add(int(container["pid_namespace"]))
    return found
