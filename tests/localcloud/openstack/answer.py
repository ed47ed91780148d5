"""Answers every request on a loopback port with one status: `python -m … PORT STATUS RETRY_AFTER`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def handler(status: int, retry_after_s: int) -> type[BaseHTTPRequestHandler]:
    """Request handler that knows one answer."""

    class Answer(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            error = {"code": status, "message": "switched-on fault", "title": "switched-on fault"}
            body = json.dumps({"error": error}).encode()
            self.send_response(status)
            self.send_header("Retry-After", str(retry_after_s))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer  # noqa: N815 - names that http.server calls

    return Answer


if __name__ == "__main__":
    port, code, seconds = map(int, sys.argv[1:4])
    ThreadingHTTPServer(("127.0.0.1", port), handler(code, seconds)).serve_forever()
