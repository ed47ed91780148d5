"""A proxy in front of one API, for one client alone: answers that the cloud would not give at will.

`faults` changes the whole cloud, which other tests use at the same time; a client that is given the proxy's
address as endpoint override meets errors, resets and silence by itself.
"""

import http.client
import json
import re
import socket
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from urllib.parse import urlsplit

Kind = Literal["answer", "reset-before", "reset-after", "silence"]
"""`reset-before` drops the request, `reset-after` lets it take effect and drops the answer."""

_HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})


@dataclass(slots=True)
class Rule:
    """What happens to requests that match."""

    method: str
    path: str
    """Pattern that the path and query must contain."""
    kind: Kind = "answer"
    status: int = 500
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    times: int = 1


class FaultyProxy:
    """Forwards to one API of the local cloud, but for what a rule says."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream)
        self.rules: list[Rule] = []
        self.seen: list[tuple[str, str]] = []
        """Method and path of every request, in order."""
        self.quiet = threading.Event()
        """Ends all silence."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The API's address through the proxy."""
        return f"http://127.0.0.1:{self._server.server_port}{self.upstream.path}"

    def rule(self, method: str, path: str, kind: Kind = "answer", **more: Any) -> None:
        """Add a rule for the next matching request, or the next `times`."""
        self.rules.append(Rule(method, path, kind, **more))

    def count(self, method: str, path: str) -> int:
        """Return how many such requests were seen."""
        return sum(method == seen and bool(re.search(path, where)) for seen, where in self.seen)

    def taken(self, method: str, path: str) -> Rule | None:
        """Note a request and use up the rule that it meets, if any."""
        with self._lock:
            self.seen.append((method, path))
            for rule in self.rules:
                if rule.method == method and rule.times > 0 and re.search(rule.path, path):
                    rule.times -= 1
                    return rule
        return None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.quiet.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    proxy: FaultyProxy
    protocol_version = "HTTP/1.1"

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        rule = self.proxy.taken(self.command, self.path)
        if rule is None:
            self._answer(*self._upstream(body))
        elif rule.kind == "answer":
            text = json.dumps(rule.body).encode() if rule.body is not None else b""
            self._answer(rule.status, {"Content-Type": "application/json", **rule.headers}, text)
        else:
            if rule.kind == "reset-after":
                self._upstream(body)
            if rule.kind == "silence":
                self.proxy.quiet.wait()
            self._reset()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = forward  # noqa: N815 - names that http.server calls

    def _upstream(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        link = http.client.HTTPConnection(
            self.proxy.upstream.hostname or "", self.proxy.upstream.port or 80, timeout=60
        )
        headers = {key: value for key, value in self.headers.items() if key.lower() not in _HOP_BY_HOP}
        link.request(self.command, self.path, body or None, headers)
        answer = link.getresponse()
        kept = {key: value for key, value in answer.getheaders() if key.lower() not in _HOP_BY_HOP}
        found = answer.status, kept, answer.read()
        link.close()
        return found

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        # A kept connection would go on after the proxy has ended.
        self.send_header("Connection", "close")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Keep standard error quiet."""
