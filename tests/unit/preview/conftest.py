"""Recorded previews of the real engine, and a forge's comment API over HTTP."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from preview import digest
from preview.digest import Preview

SAMPLES = Path(__file__).parent / "samples"
POLICIES = Path(__file__).parents[2] / "policy"


@pytest.fixture
def sample() -> Callable[[str], Preview]:
    def load(name: str) -> Preview:
        (file,) = SAMPLES.glob(f"{name}.json*")
        return digest.read(file.read_text(encoding="utf-8"))

    return load


class CommentServer:
    """Comments of one request on GitHub or GitLab; `refuse` is the status of every write."""

    def __init__(self) -> None:
        self.comments: dict[int, dict[str, Any]] = {}
        self.refuse = 0
        self.who_status = 200
        self.calls: list[tuple[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def _handle(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer = server.act(
                    self.command, self.path.partition("?")[0], json.loads(raw or b"{}")
                )
                body = b"" if status == 204 else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - http.server's names

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, body: str, login: str = "ci-bot", user_id: int = 5, kind: str = "Bot") -> int:
        number = len(self.comments) + 1
        user = {"login": login, "id": user_id, "type": kind}
        self.comments[number] = {"id": number, "body": body, "user": user, "author": user, "system": False}
        return number

    def act(self, verb: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.calls.append((verb, path))
        if path.endswith("/user"):
            return self.who_status, {"id": 5, "login": "ci-bot"}
        if verb != "GET" and self.refuse:
            return self.refuse, {"message": "no"}
        if verb == "GET":
            return 200, list(self.comments.values())
        if verb == "POST":
            return 201, self.comments[self.add(body["body"])]
        number = re.search(r"/(?:comments|notes)/(\d+)$", path)
        return self._write(verb, int(number[1]) if number else 0, body)

    def _write(self, verb: str, number: int, body: dict[str, Any]) -> tuple[int, Any]:
        if number not in self.comments:
            return 404, {"message": "404 Not Found"}
        if verb == "DELETE":
            del self.comments[number]
            return 204, None
        self.comments[number]["body"] = body["body"]
        return 200, self.comments[number]


@pytest.fixture
def forge() -> Iterator[CommentServer]:
    server = CommentServer()
    yield server
    server.close()
