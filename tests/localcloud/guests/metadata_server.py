"""HTTP side of the guests' metadata services: a loopback port per guest, one waiting thread for all."""

import os
import selectors
import socket
import struct
import threading
from collections.abc import Callable  # noqa: TC003 - read at run time by type checks of locals
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, cast

_LOOPBACK = "127.0.0.1"
_PORTS = range(20000, 30000)
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Answerer(Protocol):
    """Decides and answers for one guest."""

    def admits(self, client: tuple[str, int], port: int) -> bool:
        """Whether the guest's rules let this connection through."""
        ...

    def answer(self, path: str) -> bytes | None:
        """Body of a path; None is 404."""
        ...


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def __init__(self, port: int, answerer: Answerer) -> None:
        self.answerer = answerer
        super().__init__((_LOOPBACK, port), _Handler)

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = _LOOPBACK, self.socket.getsockname()[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A guest that hangs up is no fault of the agent."""


class _Handler(BaseHTTPRequestHandler):
    server_version = "metadata"
    sys_version = ""
    timeout = 10

    def do_GET(self) -> None:
        if not self._guest_server().answerer.admits(self.client_address, self._guest_server().server_port):
            self._refuse()
            return
        body = self._guest_server().answerer.answer(self.path)
        self.send_response(404 if body is None else 200)
        text = body is None or not self.path.endswith((".json", "user_data", "user-data"))
        self.send_header("Content-Type", "text/plain; charset=utf-8" if text else "application/octet-stream")
        body = b"404 Not Found\n" if body is None else body
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the standard library's naming

    def _guest_server(self) -> _Server:
        return cast("_Server", self.server)

    def _refuse(self) -> None:
        """Reset the connection: what a REJECT rule makes of it."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        os.close(self.connection.detach())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's parameter
        """Requests aren't logged: paths of user-data are asked for in loops."""


@dataclass(slots=True)
class _Listening:
    server: _Server
    port: int


class MetadataServers:
    """All metadata services of this machine; a restarted agent takes its ports again."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._listening = dict[str, _Listening]()
        self._lock = threading.Lock()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name="metadata", daemon=True)
        self._thread.start()

    def open(self, guest_id: str, answerer: Answerer, port: int | None = None) -> int:
        """Port of the guest's service, opened where it wasn't; `port` is used if it is free."""
        with self._lock:
            if guest_id in self._listening:
                return self._listening[guest_id].port
            server = self._bind(guest_id, answerer, port)
            self._listening[guest_id] = _Listening(server, server.server_port)
            self._selector.register(server, selectors.EVENT_READ, server)
        self._wake()
        return server.server_port

    def close(self, guest_id: str) -> None:
        """End the guest's service."""
        with self._lock:
            listening = self._listening.pop(guest_id, None)
            if listening:
                self._selector.unregister(listening.server)
                listening.server.server_close()
        self._wake()

    def close_all(self) -> None:
        """End every service and the thread."""
        for guest_id in list(self._listening):
            self.close(guest_id)
        self._closed = True
        self._wake()
        self._thread.join(5)
        self._selector.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def _bind(self, guest_id: str, answerer: Answerer, port: int | None) -> _Server:
        start = sum(guest_id.encode()) * 7919 % len(_PORTS)
        wishes = [port] if port else []
        for candidate in (*wishes, *_PORTS[start:], *_PORTS[:start]):
            try:
                return _Server(candidate, answerer)
            except OSError:
                continue
        raise OSError(
            f"No free port on {_LOOPBACK} in {_PORTS.start}-{_PORTS.stop - 1} for a metadata service."
        )

    def _wake(self) -> None:
        os.write(self._wake_writer, b".")

    def _accept(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select():
                if key.data is None:
                    os.read(self._wake_reader, 4096)
                    continue
                serve: Callable[[], None] = key.data._handle_request_noblock
                serve()
