"""Help for tests of anything that talks to GitLab: a server process, a puppet runner, a receiver."""

import json
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import httpx

PACKAGES = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
POLL_S = 0.02
T = TypeVar("T")


def wait_for(look: Callable[[], T]) -> T:
    """The first true value that `look` gives; raises `TimeoutError` when there is none within a minute."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if value := look():
            return value
        time.sleep(POLL_S)
    raise TimeoutError(f"nothing within {DEADLINE_S} s")


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Server:
    """The simulator's process; `home` keeps its state, log and tokens."""

    home: Path
    port: int = field(default_factory=free_port)
    admin_token: str = "glpat-admin-for-tests"
    sim_token: str = "sim-token-for-tests"
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        world = self.home / "world.json"
        world.write_text(json.dumps({"gitlab_token": self.admin_token, "sim_token": self.sim_token}))
        command = [sys.executable, "-m", "localcloud.gitlab", "--port", str(self.port)]
        command += ["--state", str(self.home / "state"), "--world", str(world)]
        with (self.home / "log").open("ab") as log:
            environment = os.environ | {"PYTHONPATH": str(PACKAGES)}
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        wait_for(self._answers)

    def _answers(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise RuntimeError(f"the server ended at its start: {(self.home / 'log').read_text()}")
        try:
            return httpx.get(f"{self.url}/-/health").status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def sim(self, method: str, path: str, /, **body: Any) -> Any:
        """Call the control interface."""
        headers = {"Authorization": f"Bearer {self.sim_token}"}
        response = httpx.request(
            method, f"{self.url}/_sim{path}", headers=headers, json=body or None, timeout=30
        )
        response.raise_for_status()
        return response.json() if response.content else None

    def api(self, method: str, path: str, /, token: str | None = None, **more: Any) -> httpx.Response:
        """Call the REST API as the administrator, with another token, or with none (an empty one)."""
        chosen = self.admin_token if token is None else token
        headers = {"PRIVATE-TOKEN": chosen} if chosen else {}
        return httpx.request(method, f"{self.url}/api/v4{path}", headers=headers, timeout=30, **more)

    def user(self, username: str, scopes: list[str] | None = None, /, **members: str) -> str:
        """The token of a user who has these levels in groups or projects."""
        made = self.sim("POST", "/users", username=username, scopes=scopes or ["api"], members=members)
        return str(made["token"])

    def seed(self, files: dict[str, str] | None = None, **more: Any) -> int:
        """A project in a group of its own; gives its id."""
        path = f"team-{secrets.token_hex(4)}/demo"
        made = self.sim("POST", "/projects", path=path, files=files or {"README.md": "demo\n"}, **more)
        return int(made["id"])

    def runner(self, project_id: int | None = None, **fields: Any) -> "FakeRunner":
        """A runner made through the API, of the project when it is given."""
        scope = {"runner_type": "project_type", "project_id": project_id} if project_id else {}
        response = self.api("POST", "/user/runners", json=scope | fields)
        response.raise_for_status()
        return FakeRunner(self, response.json()["id"], response.json()["token"])


@dataclass(slots=True)
class FakeRunner:
    """A runner that does only what a test tells it."""

    server: Server
    runner_id: int
    token: str
    system_id: str = "s_test"

    def request(self, **more: Any) -> httpx.Response:
        """Ask for a job."""
        body = {"token": self.token, "system_id": self.system_id} | more
        return httpx.post(f"{self.server.url}/api/v4/jobs/request", json=body, timeout=30)

    def take(self) -> dict[str, Any]:
        """The next job, which must be there."""
        response = self.request()
        if response.status_code != 201:
            raise LookupError(f"no job: {response.status_code} {response.text}")
        job: dict[str, Any] = response.json()
        return job

    def trace(self, job: dict[str, Any], text: str, start: int = 0) -> httpx.Response:
        """Append to the job's log."""
        headers = {"JOB-TOKEN": job["token"], "Content-Range": f"{start}-{start + len(text) - 1}"}
        url = f"{self.server.url}/api/v4/jobs/{job['id']}/trace"
        return httpx.patch(url, content=text, headers=headers, timeout=30)

    def finish(self, job: dict[str, Any], state: str = "success", **more: Any) -> httpx.Response:
        """End the job."""
        body = {"token": job["token"], "state": state} | more
        return httpx.put(f"{self.server.url}/api/v4/jobs/{job['id']}", json=body, timeout=30)


@dataclass(slots=True)
class Receiver:
    """A webhook receiver that keeps what it got and answers with `status`."""

    port: int
    status: int = 200
    received: "queue.Queue[tuple[dict[str, str], bytes]]" = field(
        default_factory=queue.Queue[tuple[dict[str, str], bytes]]
    )

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    def raw(self) -> tuple[dict[str, str], bytes]:
        """The next delivery: headers in lower case, and the body's bytes."""
        return self.received.get(timeout=DEADLINE_S)

    def get(self) -> tuple[dict[str, str], dict[str, Any]]:
        """The next delivery with its body parsed."""
        headers, body = self.raw()
        return headers, json.loads(body)


@contextmanager
def receiving() -> Generator[Receiver]:
    """A receiver on a free port while the block runs."""
    found: list[Receiver] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found[0].received.put(({key.lower(): value for key, value in self.headers.items()}, body))
            self.send_response(found[0].status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Keep quiet."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.append(Receiver(listener.server_address[1]))
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": POLL_S})
    thread.start()
    try:
        yield found[0]
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
