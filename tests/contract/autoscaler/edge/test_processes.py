"""Real processes with one SQLite file: §4 case 11 with kill -9, and two of them with one lease."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
from autoscaler_site.child import Far, Manager
from autoscaler_site.outside import Outside
from autoscaler_site.site import write

from shadow_autoscaler.adapters.sqlite_store import SqliteStore

ROOT = Path(__file__).parents[4]


class Process:
    """One server process."""

    def __init__(self, file: Path, address: str, port: int, writes: int = 0) -> None:
        self.port = port
        self.lines: list[dict[str, Any]] = []
        command = [sys.executable, "-m", "autoscaler_site.child", str(file), address, str(writes)]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self._listening = threading.Event()
        assert self.process.stderr is not None
        self._reader = threading.Thread(target=self._read, args=(self.process.stderr,))
        self._reader.start()

    def wait(self) -> None:
        """Wait until it listens."""
        assert self._listening.wait(240), self.lines
        assert self.process.poll() is None, (
            f"ended with {self.process.returncode} before it listened: {self.lines}"
        )

    def kill(self) -> None:
        """Kill it without a word."""
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def stop(self) -> int:
        """Stop it as systemd does."""
        self.process.terminate()
        return self.end()

    def end(self) -> int:
        """Wait for its end."""
        code = self.process.wait(240)
        self._reader.join(240)
        return code

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.append(json.loads(line) if line.startswith("{") else {"message": line})
            if self.lines[-1]["message"] == "listening":
                self._listening.set()
        self._listening.set()  # or never will: whoever waits is told so at once
        stream.close()


@pytest.fixture(name="start")
def start_fixture(tmp_path: Path, outside: Outside) -> Iterator[Callable[..., Process]]:
    """Starts servers on one configuration; those still alive are killed in the end."""
    Manager.register("cloud", lambda: Far(outside.locked(outside.cloud)), exposed=["call"])
    Manager.register("github", lambda: Far(outside.locked(outside.github)), exposed=["call"])
    address = str(tmp_path / "ports")
    manager = Manager(address, b"test")
    server = manager.get_server()
    threading.Thread(target=_forever, args=(server,), daemon=True).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        ports = iter(range(probe.getsockname()[1], 65_000))
    started: list[Process] = []

    def start(port: int = 0, writes: int = 0) -> Process:
        port = port or next(ports)
        file = write(tmp_path, listen={"port": port})
        process = Process(file, address, port, writes)
        started.append(process)
        outside.url = f"http://127.0.0.1:{port}"
        return process

    yield start
    for process in started:
        if process.process.poll() is None:
            process.kill()
    server.stop_event.set()


def _forever(server: Any) -> None:
    with suppress(SystemExit):  # its way of saying that it has stopped
        server.serve_forever()


def finish(outside: Outside, tmp_path: Path, number: int = 5001) -> None:
    """Wait until everything has settled, and check that it has done so well."""
    (key,) = (key for key in outside.github.truth() if key.job_id == number)
    outside.until(lambda: outside.done(key) and outside.empty(), 90)
    assert outside.github.truth()[key].conclusion == "success"
    assert outside.github.starts[key] == 1
    store = SqliteStore(tmp_path / "autoscaler.db")
    outside.until(lambda: not (store.outbox() or store.inbox()))
    outside.until(lambda: not any(vm.live for vm in store.load().vms.values()))
    store.close()


STEPS = {
    "JIT call sent": ("github.register", "before"),
    "JIT call answered": ("github.register", "after"),
    "POST to Nova sent": ("cloud.create", "before"),
    "POST to Nova answered": ("cloud.create", "after"),
    "DELETE at the forge sent": ("github.deregister", "after"),
    "DELETE to Nova sent": ("cloud.delete", "after"),
}


@pytest.mark.parametrize("step", STEPS)
def test_case_11_killed_at_a_call(
    start: Callable[..., Process], outside: Outside, tmp_path: Path, step: str
) -> None:
    process = start()
    process.wait()
    verb, moment = STEPS[step]
    dead = threading.Event()

    def kill(called: str, when: str) -> None:
        if (called, when) == (verb, moment) and not dead.is_set():
            dead.set()
            process.process.send_signal(signal.SIGKILL)

    outside.faults.hook = kill
    outside.queue(5001)
    assert process.end() == -signal.SIGKILL
    start(process.port).wait()
    finish(outside, tmp_path)


@pytest.mark.parametrize(
    "writes", [1, 3, *(pytest.param(number, marks=pytest.mark.slow) for number in (2, 4, 5, 6, 7, 8, 9, 10))]
)
def test_case_11_killed_after_a_write(
    start: Callable[..., Process], outside: Outside, tmp_path: Path, writes: int
) -> None:
    process = start(writes=writes)
    process.wait()
    outside.queue(5001)
    assert process.end() == -signal.SIGKILL
    start(process.port).wait()
    finish(outside, tmp_path)


def test_a_restart_while_a_job_runs_is_not_noticed(
    start: Callable[..., Process], outside: Outside, tmp_path: Path
) -> None:
    process = start()
    process.wait()
    key = outside.queue(5001, seconds=3)
    outside.until(lambda: outside.github.starts[key])
    assert process.stop() == 0
    assert process.lines[-1] | {"graceful": True} == process.lines[-1]
    start(process.port).wait()
    finish(outside, tmp_path)
    assert outside.faults.calls["cloud.create"] == 1


def test_of_two_processes_one_decides_and_the_other_takes_over(
    start: Callable[..., Process], outside: Outside, tmp_path: Path
) -> None:
    first = start()
    first.wait()
    outside.until(lambda: role(first) == "decides")
    second = start()
    second.wait()
    assert role(second) == "standby"
    # `outside` now calls the second one: its webhooks and reports reach the first through the inbox.
    with outside.lock:
        outside.guests = False
    outside.queue(5001)
    outside.until(outside.cloud.truth)
    first.kill()
    outside.until(lambda: role(second) == "decides", 240)
    (server,) = outside.cloud.truth().values()
    outside.until(lambda: outside.cloud.truth()[server.server_id].raw_status == "ACTIVE")
    outside._guest(server)
    finish(outside, tmp_path)
    assert outside.faults.calls["cloud.create"] == 1


def role(process: Process) -> str:
    """Return what a server says that it does."""
    return str(httpx.get(f"http://127.0.0.1:{process.port}/readyz").json()["role"])


@pytest.mark.slow
def test_case_10_a_burst_of_256_survives_kill_9_in_the_middle(
    start: Callable[..., Process], outside: Outside, tmp_path: Path
) -> None:
    process = start()
    process.wait()
    most = outside.counted()
    keys = [outside.queue(6000 + number, 0.02) for number in range(256)]
    outside.until(lambda: sum(outside.done(key) for key in keys) >= 80, 300)
    process.kill()
    assert not outside.done(*keys)
    start(process.port).wait()
    outside.until(lambda: outside.done(*keys) and outside.empty(), 500)
    assert most() == 3
    assert all(outside.github.truth()[key].conclusion == "success" for key in keys)
    assert all(outside.github.starts[key] == 1 for key in keys)
    assert outside.faults.calls["cloud.create"] <= 256 + 2 * most()
