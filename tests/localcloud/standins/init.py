"""Process 1 of a guest: console, cloud-init's stages, enabled services, and systemctl's socket."""

import heapq
import itertools
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from localcloud.standins import units
from localcloud.standins.hardware import BOOT_MARK, MARKS, RELOAD_MARK
from localcloud.standins.service import NOTIFY, PATH, Service

SOCKET = Path("/run/systemd/private")
BOOT_STATE = Path("/run/boot.json")
CONSOLE = Path("/dev/console")
METADATA_URL = Path("/run/metadata-url")
POWER = Path("/run/power")
"""What the guest asked for when its process 1 ended: `poweroff` or `reboot`."""
_STAGES = (
    ("cloud-init", "init"),
    ("cloud-init", "modules", "--mode=config"),
    ("cloud-init", "modules", "--mode=final"),
)
_STOP_SECONDS = 5.0
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid
_ORDER_SECONDS = 0.1
_CONSOLE_LIMIT = 16 * 2**20

Action = Callable[[], None]


class Init:
    """The loop: one thread, woken by children, the console, notifications, requests and timers."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._selector = selectors.DefaultSelector()
        self._services = dict[str, Service]()
        self._timers: list[tuple[float, int, Action]] = []
        self._serial = itertools.count()
        self._pending = set[str]()
        self._stages = list(_STAGES)
        self._stage_pid = 0
        self._boot: dict[str, Any] = {"started_at": time.time(), "state": "running", "exit_codes": []}
        self._console_bytes = 0
        self._ends = False

    def run(self) -> int:
        """Boot, then serve until powered off."""
        self._open_console()
        self._open_socket()
        self._watch_children()
        MARKS.mkdir(parents=True, exist_ok=True)
        (MARKS / BOOT_MARK).touch()
        METADATA_URL.write_text(self._environment.get("SHADOW_METADATA_URL", ""))
        self._print("booting")
        self._pending = set(units.enabled())
        for name in sorted(self._pending):
            self._start(name, None)
        self._next_stage()
        while not self._ends:
            self._wait()
        return 0

    # console

    def _open_console(self) -> None:
        CONSOLE.unlink(missing_ok=True)
        os.mkfifo(CONSOLE, 0o622)
        reader = os.open(CONSOLE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(reader, selectors.EVENT_READ, lambda: self._relay(reader))

    def _relay(self, reader: int) -> None:
        with suppress(BlockingIOError):
            text = os.read(reader, 65536)
            self._console_bytes += len(text)
            if self._console_bytes <= _CONSOLE_LIMIT:
                os.write(1, text)

    def _print(self, text: str) -> None:
        os.write(1, f"init: {text}\n".encode())

    # boot

    def _next_stage(self) -> None:
        if not self._stages:
            failed = [code for code in self._boot["exit_codes"] if code]
            self._save("error" if failed else "done", finished_at=time.time())
            return
        command = self._stages.pop(0)
        self._save("running", stage=" ".join(command[1:]))
        environment = {**self._environment, "PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"}
        with CONSOLE.open("ab", buffering=0) as console:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
        process.returncode = 0  # reaped below, as every child
        self._stage_pid = process.pid

    def _save(self, state: str, **more: object) -> None:
        self._boot |= {"state": state, **more}
        draft = BOOT_STATE.with_suffix(".draft")
        draft.write_text(json.dumps(self._boot))
        draft.replace(BOOT_STATE)

    # children

    def _watch_children(self) -> None:
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _awake)
        signal.signal(signal.SIGTERM, lambda _number, _frame: self._power("poweroff"))
        self._selector.register(reader, selectors.EVENT_READ, lambda: self._reap(reader))

    def _reap(self, reader: int) -> None:
        with suppress(BlockingIOError):
            os.read(reader, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ended(pid, status)

    def _ended(self, pid: int, status: int) -> None:
        if pid == self._stage_pid:
            self._stage_pid = 0
            self._boot["exit_codes"].append(os.waitstatus_to_exitcode(status))
            self._next_stage()
            return
        for service in self._services.values():
            if service.pid == pid:
                delay = service.ended(status)
                if delay is not None:
                    self._after(delay, _restarting(self._restart, service))
                return

    def _restart(self, service: Service) -> None:
        if service.wanted and not service.pid:
            service.active = "inactive"
            service.start()

    # loop

    def _after(self, seconds: float, action: Action) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._serial), action))

    def _wait(self) -> None:
        timeout = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
        for key, _ in self._selector.select(timeout):
            key.data()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()

    # requests

    def _open_socket(self) -> None:
        SOCKET.parent.mkdir(parents=True, exist_ok=True)
        SOCKET.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(SOCKET))
        SOCKET.chmod(0o600)
        listener.listen(16)
        self._selector.register(listener, selectors.EVENT_READ, lambda: self._accept(listener))

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.settimeout(2)

        def reply(error: str, **more: object) -> None:
            with suppress(OSError), connection:
                connection.sendall(json.dumps({"error": error, **more}).encode())

        try:
            request = json.loads(connection.recv(65536))
            self._handle(request["verb"], request.get("unit", ""), request, reply)
        except units.UnitError as error:
            reply(str(error))
        except (OSError, ValueError, KeyError) as error:
            reply(f"Bad request: {error}")

    def _handle(self, verb: str, name: str, request: dict[str, Any], reply: Callable[..., None]) -> None:
        verbs: dict[str, Action] = {
            "start": lambda: self._start(name, reply),
            "stop": lambda: self._stop(name, reply),
            "restart": lambda: self._stop(name, lambda _error: self._start(name, reply)),
            "status": lambda: reply("", **self._status(name)),
            "kill": lambda: self._kill(name, int(request.get("signal", signal.SIGTERM)), reply),
            "daemon-reload": lambda: self._reload(reply),
            "poweroff": lambda: self._power("poweroff", reply),
            "reboot": lambda: self._power("reboot", reply),
        }
        verbs[verb]()

    def _start(self, name: str, reply: Callable[[str], None] | None) -> None:
        """Start what the unit requires, wait for what it comes after, then start it."""
        name = units.full_name(name)
        try:
            unit = units.load(name)
        except units.UnitError as error:
            (reply or self._print)(str(error))
            return
        service = self._services.setdefault(name, Service(unit, self._environment))
        service.unit = unit
        self._pending.discard(name)
        if service.active == "active" and reply is None:
            return
        for wish in unit.names("Wants"):
            if units.exists(wish) and self._idle(wish):
                self._start(wish, None)
        self._start_required(service, unit.names("Requires", "BindsTo"), reply)

    def _start_required(
        self, service: Service, names: list[str], reply: Callable[[str], None] | None
    ) -> None:
        if not names:
            self._start_after(service, reply)
            return

        def started(error: str) -> None:
            if error:
                service.active, service.result = "inactive", "dependency"
                (reply or self._print)(f"A dependency job for {service.unit.name} failed: {error}")
            else:
                self._start_required(service, names[1:], reply)

        self._start(names[0], started)

    def _start_after(self, service: Service, reply: Callable[[str], None] | None) -> None:
        """Wait while a unit that comes first is starting or is still to start at this boot."""
        first = [name for name in service.unit.names("After") if self._coming(name)]
        if first:
            self._after(_ORDER_SECONDS, lambda: self._start_after(service, reply))
            return
        if service.kind == "notify" and service.notify is None:
            self._open_notify(service)
        service.start(reply or (lambda _error: None))

    def _coming(self, name: str) -> bool:
        other = self._services.get(name)
        return name in self._pending or (other is not None and other.active == "activating" and other.wanted)

    def _idle(self, name: str) -> bool:
        other = self._services.get(name)
        return other is None or other.active in {"inactive", "failed"}

    def _open_notify(self, service: Service) -> None:
        path = NOTIFY / service.unit.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        service.notify = channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        channel.bind(str(path))
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

        def heard() -> None:
            text, credentials, _flags, _address = channel.recvmsg(4096, socket.CMSG_SPACE(_CREDENTIALS.size))
            # A message of the process before a restart must not make the new one ready (NotifyAccess=main).
            if b"READY=1" in text and _CREDENTIALS.unpack(credentials[0][2])[0] == service.pid:
                service.ready()

        self._selector.register(channel, selectors.EVENT_READ, heard)

    def _stop(self, name: str, reply: Callable[[str], None]) -> None:
        service = self._services.get(units.full_name(name))
        if service is None:
            units.load(name)
            reply("")
            return
        had = service.pid
        service.stop()
        if not had:
            reply("")
            return
        service.waiting.append(lambda _error: reply(""))
        self._after(_STOP_SECONDS, lambda: service.kill() if service.pid == had else None)

    def _kill(self, name: str, number: int, reply: Callable[[str], None]) -> None:
        service = self._services.get(units.full_name(name))
        if service is None or not service.pid:
            reply(f"Unit {units.full_name(name)} not loaded.")
            return
        service.kill(signal.Signals(number))
        reply("")

    def _status(self, name: str) -> dict[str, object]:
        name = units.full_name(name)
        service = self._services.get(name)
        if service is None:
            units.load(name)
            return {"active": "inactive", "result": "success", "pid": 0, "exit_code": 0}
        return {
            "active": service.active,
            "result": service.result,
            "pid": service.pid,
            "exit_code": service.exit_code,
        }

    def _reload(self, reply: Callable[[str], None]) -> None:
        docker = self._services.get("docker.service")
        if docker is not None and docker.pid:
            (MARKS / RELOAD_MARK).touch()
        reply("")

    def _power(self, wish: str, reply: Callable[[str], None] | None = None) -> None:
        if reply:
            reply("")
        POWER.write_text(wish)
        for service in self._services.values():
            service.stop()
        self._print(wish)
        self._ends = True


def _awake(_number: int, _frame: object) -> None:
    """Only wakes the loop, which then reaps."""


def _restarting(restart: Callable[[Service], None], service: Service) -> Action:
    return lambda: restart(service)


def main(_program: str, _arguments: Sequence[str]) -> int:
    """Run as process 1 until the guest is switched off."""
    kept = {"SHADOW_METADATA_URL"}
    return Init({name: os.environ[name] for name in kept if name in os.environ}).run()
