"""What the tests of the simulated GitHub share: the process, a hook target, a workflow file."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import httpx

from localcloud.processes import http_ok, wait_until

ROOT = Path(__file__).parents[3]
RUNNER = ROOT / "tests" / "localcloud" / "standins" / "actions-runner"
USER_TOKEN = "ghp_" + "t" * 36
SIM_TOKEN = "sim-" + "s" * 32
WAIT_S = 30


def free_port() -> int:
    """A port on loopback that nobody holds."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Forge:
    """One running simulator."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process and wait until it answers."""
        world = self.folder / "world.json"
        world.write_text(json.dumps({"github_token": USER_TOKEN, "sim_token": SIM_TOKEN}))
        command = [sys.executable, "-m", "localcloud.github", "--port", str(self.port)]
        command += ["--state", str(self.folder / "state"), "--world", str(world)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
        self.process = subprocess.Popen(command, env=environment)
        assert wait_until(lambda: http_ok(f"{self.url}/-/health"), WAIT_S), "the simulator does not answer"

    def kill(self) -> None:
        """End the process by SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def api(self, token: str | None = USER_TOKEN, **headers: str) -> httpx.Client:
        """Client of the REST API."""
        own = {"Authorization": f"Bearer {token}"} if token else {}
        base = f"{self.url}/api/v3"
        return httpx.Client(base_url=base, headers={**own, **headers}, trust_env=False, timeout=30)

    def sim(self, method: str, path: str, body: object = None) -> Any:
        """Answer of the control API."""
        answer = httpx.request(
            method,
            f"{self.url}/_sim{path}",
            json=body,
            headers={"Authorization": f"Bearer {SIM_TOKEN}"},
            trust_env=False,
            timeout=30,
        )
        assert answer.status_code < 300, answer.text
        return answer.json()


@dataclass(frozen=True)
class Delivery:
    """What a hook has received."""

    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> Any:
        """The JSON document."""
        return json.loads(self.body)

    @property
    def name(self) -> str:
        """`event` or `event.action`."""
        action = self.payload.get("action")
        event = self.headers["x-github-event"]
        return f"{event}.{action}" if action else event


class Receiver:
    """A hook target on loopback; `status` is what it answers."""

    def __init__(self) -> None:
        self.status = 200
        self.hold = threading.Event()
        self.hold.set()
        self.received: Queue[Delivery] = Queue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Address for the hook's configuration."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def next(self, name: str | None = None, timeout_s: float = WAIT_S) -> Delivery:
        """The next delivery, or the next one of a name; others are dropped."""
        while True:
            found = self.received.get(timeout=timeout_s)
            if name is None or found.name == name:
                return found

    def close(self) -> None:
        """Stop serving."""
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.put(Delivery(headers, body))
                receiver.hold.wait(WAIT_S)
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


StartScript = Callable[..., "subprocess.Popen[str]"]
StartRun = Callable[[str], dict[str, Any]]
FindJobs = Callable[..., list[dict[str, Any]]]
Finish = Callable[[dict[str, Any]], dict[str, Any]]


def workflow(steps: str = "- run: echo hello", runs_on: str = "[self-hosted, gpu]", more: str = "") -> str:
    """A workflow file with one job `test`."""
    return f"name: ci\non: push\njobs:\n  test:\n    runs-on: {runs_on}\n{more}    steps:\n      {steps}\n"
