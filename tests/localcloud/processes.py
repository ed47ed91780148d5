"""Long-running services: start, wait until ready, signal, stop; found again by pid file after any crash."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from localcloud.paths import log_dir, run_dir, state_home

LOOPBACK = "127.0.0.1"
_POLL_SECONDS = 0.1
_LAST_THREAD_S = 3
_LOG_TAIL_LINES = 15


class ServiceError(RuntimeError):
    """A service could not be started or did not become ready; the text says which, why and what to do."""


def port_open(port: int) -> bool:
    """Whether something accepts TCP connections on the loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def http_ok(url: str) -> bool:
    """Whether a GET of the address answers below 400."""
    try:
        return httpx.get(url, timeout=2, trust_env=False).status_code < 400
    except httpx.HTTPError:
        return False


def fresh(path: Path, max_age_s: float = 10) -> bool:
    """Whether a heartbeat file was touched within the last seconds."""
    try:
        return time.time() - path.stat().st_mtime <= max_age_s
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll until the condition holds; False where it did not within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_SECONDS)
    return True


@dataclass(frozen=True, slots=True)
class Service:
    """One background program, known by its pid file.

    `command` is started in a session of its own with `env` added to the caller's environment, output goes to
    `state_home()/log/<name>.log`. `ready` says when it can be used; `ports` must be free before a start.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    ready: Callable[[], bool] | None = None
    ports: tuple[int, ...] = ()
    stop_seconds: float = 10

    @property
    def pid_file(self) -> Path:
        """File that names the pid, its start time and the boot it belongs to."""
        return run_dir() / f"{self.name}.pid"

    @property
    def log_file(self) -> Path:
        """File that takes standard output and error."""
        return log_dir() / f"{self.name}.log"

    def pid(self) -> int | None:
        """Pid of the running service; None where it doesn't run or the pid has another owner now."""
        recorded = self._recorded()
        if recorded is None or _identity(recorded[0]) != recorded:
            return None
        return recorded[0]

    def running(self) -> bool:
        """Whether the process exists and is ours (it may still be starting, or paused)."""
        return self.pid() is not None

    def healthy(self) -> bool:
        """Whether it runs, isn't paused and says that it is ready."""
        return self.running() and not self.paused() and (self.ready is None or self.ready())

    def paused(self) -> bool:
        """Whether its process was stopped by SIGSTOP."""
        pid = self.pid()
        return pid is not None and _stat(pid)[:1] == ["T"]

    def start(self) -> bool:
        """Start unless it runs already; True where a process was started.

        Raises:
            ServiceError: a port is taken by another program.
        """
        if self.running():
            return False
        self._kill_remains()
        require_free_ports([self])
        run_dir().mkdir(parents=True, exist_ok=True)
        log_dir().mkdir(parents=True, exist_ok=True)
        identity = _identity(self._spawn())
        self.pid_file.write_text(" ".join(map(str, identity)) if identity else "")
        return True

    def wait_ready(self, seconds: float = 60) -> None:
        """Wait until ready.

        Raises:
            ServiceError: it exited, or the time ran out; the end of its log is part of the text.
        """
        if not wait_until(lambda: not self.running() or self.healthy(), seconds):
            raise ServiceError(f"{self.name} is not ready after {seconds:.0f} s.{self._log_tail()}")
        if not self.running():
            raise ServiceError(f"{self.name} has exited while starting.{self._log_tail()}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the service and all its children.

        Raises:
            ServiceError: it isn't running.
        """
        if not self.running():
            raise ServiceError(f"{self.name} is not running; start it with `scripts/localcloud up`.")
        for pid in self.members():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self) -> None:
        """Stop by TERM, then KILL after `stop_seconds`; nothing happens where it isn't running."""
        pid = self.pid()
        if pid is not None:
            for number in (signal.SIGCONT, signal.SIGTERM):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            wait_until(lambda: not self.running(), self.stop_seconds)
        self._kill_remains()
        self.pid_file.unlink(missing_ok=True)

    def kill(self) -> None:
        """End it at once by SIGKILL, children too (a crash, for tests)."""
        self._kill_remains()

    def members(self) -> list[int]:
        """Pids of the service's session: itself and the children that it left or still has."""
        recorded = self._recorded()
        if recorded is None or recorded[2] != _boot_id():
            return []
        leader = _identity(recorded[0])
        if leader is not None and leader != recorded:
            return []
        return [pid for pid in psutil.pids() if _session(pid) == recorded[0] and alive(pid)]

    def memory_mib(self) -> float:
        """Proportional set size of all its processes in MiB."""
        total = 0
        for pid in self.members():
            with suppress(psutil.Error):
                total += psutil.Process(pid).memory_full_info().pss
        return total / 2**20

    def _recorded(self) -> tuple[int, int, str] | None:
        try:
            pid, started, boot = self.pid_file.read_text().split()
            return int(pid), int(started), boot
        except (FileNotFoundError, ValueError):
            return None

    def _spawn(self) -> int:
        output = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(self.log_file), output, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        command = ["env", "-C", str(state_home()), *self.command]
        env = {**os.environ, **self.env}
        return os.posix_spawnp("env", command, env, file_actions=actions, setsid=True)

    def _kill_remains(self) -> None:
        pids = self.members()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if pids and not wait_until(lambda: not any(alive(pid) for pid in pids), 5):
            raise ServiceError(f"{self.name}: process {pids} does not end; see `ps -p {pids[0]}`.")

    def _log_tail(self) -> str:
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
        except FileNotFoundError:
            lines = []
        return "\n".join([f" End of {self.log_file}:", *(f"  {line}" for line in lines)])


def require_free_ports(services: Iterable[Service]) -> None:
    """Check the ports of all services that don't run, before any of them is started.

    Raises:
        ServiceError: other programs hold some of them; all are named.
    """
    needed = [(service.name, port) for service in services if not service.running() for port in service.ports]
    # A killed process counts as dead when its first thread has ended, but the last one closes its ports.
    wait_until(lambda: not any(port_open(port) for _, port in needed), _LAST_THREAD_S)
    taken = [
        f"{name} needs {LOOPBACK}:{port}, held by {port_owner(port)}"
        for name, port in needed
        if port_open(port)
    ]
    if taken:
        raise ServiceError(
            f"{'; '.join(taken)}. End that program, or move the whole cloud with "
            "SHADOW_LOCALCLOUD_PORT_OFFSET=1000, then run `scripts/localcloud up` again."
        )


def port_owner(port: int) -> str:
    """`pid N name` of the program that listens on the port, as far as this user may see it."""
    for connection in psutil.net_connections("tcp"):
        if (
            connection.status == psutil.CONN_LISTEN
            and connection.pid
            and tuple(connection.laddr)[1:] == (port,)
        ):
            with suppress(psutil.Error):
                return f"pid {connection.pid} {psutil.Process(connection.pid).name()}"
    return "pid unknown"


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    return _identity(pid) is not None


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _identity(pid: int) -> tuple[int, int, str] | None:
    """Pid with the process's start time in clock ticks and the boot; None for a dead or a zombie process."""
    fields = _stat(pid)
    if not fields:
        return None
    if fields[0] in "ZX":
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        return None
    return pid, int(fields[19]), _boot_id()


def _stat(pid: int) -> list[str]:
    """Fields of /proc/<pid>/stat from the state on; empty for no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None
