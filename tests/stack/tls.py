"""A TLS server whose certificate nobody knows."""

import contextlib
import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

from localcloud import certificates


class _Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: refused handshakes are what the test is about."""


@contextlib.contextmanager
def untrusted_server(folder: Path) -> Iterator[int]:
    """Serve on a free port of loopback with a self-signed certificate made in `folder`; yield the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates.self_signed(folder))
    with _Quiet(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()
