"""Runs a guest in bubblewrap: own mount, pid, IPC and host-name spaces; found again after a restart."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from localcloud.standins.rootfs import HOST

_GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_START_SECONDS = 10.0
_CAPABILITIES_WITHHELD = (
    "CAP_SYS_BOOT",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_TIME",
    "CAP_SYS_PTRACE",
    "CAP_SYSLOG",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_MKNOD",
    "CAP_AUDIT_CONTROL",
    "CAP_MAC_ADMIN",
    "CAP_BPF",
    "CAP_PERFMON",
)


class SandboxError(RuntimeError):
    """A guest could not be started; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Mounts:
    """Host folders that a guest needs: its root, and what it sees read-only below `/.host`."""

    root: Path
    hardware: Path
    standins: Path
    cloud_init: Path
    volumes: tuple[Path, ...] = ()
    """Folders that stand for attached volumes, named by the volumes' IDs."""


@dataclass(frozen=True, slots=True)
class Process:
    """A guest's process 1: known by pid and pid namespace, so that a reused pid is never taken for it."""

    pid: int
    namespace: int

    def alive(self) -> bool:
        """Whether it still runs."""
        return pid_namespace(self.pid) == self.namespace

    def kill(self) -> None:
        """SIGKILL, and wait for it: the kernel ends every process of its pid namespace with it."""
        if self.alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            wait(lambda: not self.alive())


def command(mounts: Mounts, hostname: str, environment: Mapping[str, str], status_fd: int) -> list[str]:
    """The bubblewrap command line that boots a guest."""
    root = mounts.root
    arguments = ["bwrap", "--json-status-fd", str(status_fd), "--bind", str(root), "/"]
    arguments += ["--ro-bind", "/usr", "/usr", "--ro-bind", "/usr", f"{HOST}/usr"]
    for folder in ("usr/bin", "usr/sbin", "usr/local", "usr/share/keyrings"):
        arguments += ["--bind", str(root / folder), f"/{folder}"]
    arguments += ["--ro-bind", str(mounts.standins), f"{HOST}/standins/localcloud/standins"]
    arguments += ["--ro-bind", str(mounts.cloud_init), f"{HOST}/cloud-init"]
    arguments += ["--ro-bind", str(mounts.hardware), f"{HOST}/hardware"]
    for volume in mounts.volumes:
        arguments += ["--bind", str(volume), f"/.volumes/{volume.name}"]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    for volume in mounts.volumes:
        arguments += ["--symlink", f"/.volumes/{volume.name}", f"/dev/disk/by-id/virtio-{volume.name[:20]}"]
    arguments += ["--hostname", hostname, "--as-pid-1", "--clearenv"]
    for name, value in (
        {"PATH": _GUEST_PATH, "HOME": "/root", "LANG": "C.UTF-8"} | dict(environment)
    ).items():
        arguments += ["--setenv", name, value]
    for capability in _CAPABILITIES_WITHHELD:
        arguments += ["--cap-drop", capability]
    standin = f"{HOST}/standins/localcloud/standins/__main__.py"
    return [*arguments, "/usr/bin/python3", "-IS", standin, "init"]


def boot(mounts: Mounts, hostname: str, environment: Mapping[str, str], console: Path, status: Path) -> None:
    """Start a guest that outlives this process; its pid and exit code are reported in the status file.

    Raises:
        SandboxError: bubblewrap is missing or can't make the sandbox.
    """
    if shutil.which("bwrap") is None:
        raise SandboxError("bwrap is not installed: run `apt-get install bubblewrap`.")
    status.unlink(missing_ok=True)
    report, files = 3, os.O_WRONLY | os.O_CREAT
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(console), files | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_OPEN, report, str(status), files, 0o600),
    ]
    words = ["env", "-C", "/", *command(mounts, hostname, environment, report)]
    monitor = os.posix_spawnp("env", words, os.environ, file_actions=actions, setsid=True)
    _monitors.add(monitor)
    if not wait(lambda: process(status) is not None or _ended(monitor)) or process(status) is None:
        said = console.read_text(errors="replace")[-400:] if console.exists() else ""
        raise SandboxError(f"bwrap could not start the guest; its last words: {said.strip() or 'none'}")


_monitors = set[int]()


def reap() -> None:
    """Take note of bubblewraps that were started here and have ended."""
    for monitor in list(_monitors):
        _ended(monitor)


def _ended(monitor: int) -> bool:
    if monitor not in _monitors:
        return True
    try:
        over = os.waitpid(monitor, os.WNOHANG)[0] == monitor
    except ChildProcessError:
        over = True
    if over:
        _monitors.discard(monitor)
    return over


def wait(condition: Callable[[], bool]) -> bool:
    """Poll until the condition holds; False where it did not within ten seconds."""
    end = time.monotonic() + _START_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def reported(status: Path) -> dict[str, int]:
    """What bubblewrap has written of a guest: `child-pid`, namespaces, and `exit-code` once it has ended."""
    found = dict[str, int]()
    with suppress(FileNotFoundError, ValueError):
        for line in status.read_text().splitlines():
            found |= json.loads(line)
    return found


def process(status: Path) -> Process | None:
    """The guest's process 1, alive or not; None where none was started yet."""
    found = reported(status)
    if "child-pid" not in found:
        return None
    return Process(found["child-pid"], found.get("pid-namespace", -1))


def orphans(home: Path) -> list[Process]:
    """Guests below a folder that their own status file no longer knows: left by a reset half-way."""
    found = list[Process]()
    for entry in Path("/proc").iterdir():
        root = _root_of_bubblewrap(entry, home) if entry.name.isdigit() else None
        if root is None:
            continue
        known = process(root.parent / "status.json")
        for child in _children(int(entry.name)):
            namespace = pid_namespace(child)
            if namespace is not None and known != Process(child, namespace):
                found.append(Process(child, namespace))
    return found


def _root_of_bubblewrap(entry: Path, home: Path) -> Path | None:
    """Root folder below `home` that a process sandboxes, if that is what it does."""
    try:
        words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    if words[0] != "bwrap" or "--bind" not in words:
        return None
    root = Path(words[words.index("--bind") + 1])
    return root if root.is_relative_to(home) else None


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def pid_namespace(pid: int) -> int | None:
    """Inode of a process's pid namespace; None where the process is gone."""
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def enter(pid: int, arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Command line that runs a program inside the namespaces of a guest's or container's process 1."""
    variables = {"PATH": _GUEST_PATH, "HOME": "/root", "LANG": "C.UTF-8"} | dict(environment)
    return [
        *("nsenter", "--target", str(pid), "--mount", "--uts", "--ipc", "--pid", "--root", "--wd"),
        *("/usr/bin/env", "-i", "-C", "/", *(f"{name}={value}" for name, value in variables.items())),
        *arguments,
    ]
