"""A controller for one machine: hands out what a test gives it and writes down what it hears."""

import hashlib
import io
import json
import tarfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from shadow_autoscaler.runtime import vm_events


@dataclass(slots=True)
class Double:
    """What it answers, and what it was asked."""

    config: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    """Answers to requests for a configuration, in order; the last one is repeated."""
    archive: bytes = b""
    meta_data: dict[str, Any] = field(default_factory=lambda: {"uuid": "server-1"})
    """The machine's meta_data.json, where the double is its metadata service too."""
    heard: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tickets: set[str] = field(default_factory=set)
    server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        assert self.server
        return f"http://127.0.0.1:{self.server.server_port}"

    def phases(self, vm: str) -> list[tuple[str, str]]:
        """Phases and statuses that a machine told."""
        told = [body for path, body in self.heard if path == f"/vm/v1/{vm}/status"]
        return [(body["phase"], body["status"]) for body in told]

    def bodies(self, path: str) -> list[dict[str, Any]]:
        return [body for place, body in self.heard if place == path]

    def start(self) -> "Double":
        handler = type("Handler", (_Handler,), {"double": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        assert self.server
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    double: ClassVar[Double]

    def do_GET(self) -> None:
        if self.path == "/runner.tar.gz":
            return self._answer(200, self.double.archive)
        if self.path == "/openstack/latest/meta_data.json":
            return self._answer(200, json.dumps(self.double.meta_data).encode())
        return self._answer(404, b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.double.tickets.add(self.headers["Authorization"])
        self.double.heard.append((self.path, body))
        *_, vm, verb = self.path.split("/")
        if verb != "config":
            return self._report(vm, verb, body)
        code, answer = self.double.config[0]
        if len(self.double.config) > 1:
            self.double.config.pop(0)
        return self._answer(code, json.dumps(answer).encode())

    def _report(self, vm: str, verb: str, body: dict[str, Any]) -> None:
        """Take what the autoscaler itself would take, and nothing else."""
        try:
            vm_events.event_of(vm, verb, json.dumps(body).encode())
        except vm_events.UnreadableError as error:
            return self._answer(400, str(error).encode())
        return self._answer(204, b"")

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0.2")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing on the terminal."""


def runner_archive(script: str) -> tuple[bytes, str]:
    """Return a runner archive whose run.sh is `script`, and its SHA-256."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("run.sh")
        entry.size, entry.mode = len(script.encode()), 0o755
        archive.addfile(entry, io.BytesIO(script.encode()))
    return buffer.getvalue(), hashlib.sha256(buffer.getvalue()).hexdigest()
