"""The outermost layer: keeps encoded slashes in paths, applies faults, and logs requests."""

import asyncio
import json
import time
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localcloud.gitlab import faults
from localcloud.gitlab.instance import Instance

KEPT_REQUESTS = 20_000
EXPIRED = {
    "error": "invalid_token",
    "error_description": "Token is expired. You can either do re-authorization or token refresh.",
}


class Gate:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, instance: Instance) -> None:
        self.app = app
        self.instance = instance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless a fault says otherwise."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        raw = scope.get("raw_path") or scope["path"].encode()
        scope["path"] = raw.decode("ascii", "replace").split("?")[0]
        if scope["path"].startswith(("/_sim/", "/-/health", "/-/readiness")):
            await self.app(scope, receive, send)
        else:
            await self._watched(scope, receive, send)

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.monotonic(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        fault = faults.take_http(self.instance, scope["method"], unquote(scope["path"]))
        try:
            await self._through(fault, scope, receive, noting, send)
        finally:
            self._log(scope, status, time.monotonic() - began, fault.kind)

    async def _through(
        self, fault: faults.Fault, scope: Scope, receive: Receive, noting: Send, send: Send
    ) -> None:
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if fault.kind == "reset":
            _abort(send)
        elif fault.kind == "reset_after":
            await self.app(scope, receive, _sink)
            _abort(send)
        elif fault.kind == "token_expired":
            await _answer(noting, 401, EXPIRED, {})
        elif fault.status:
            await _answer(noting, fault.status, fault.body, fault.headers)
        else:
            await self.app(scope, receive, noting)

    def _log(self, scope: Scope, status: int, duration_s: float, fault: str) -> None:
        headers = dict(scope["headers"])
        query = scope["query_string"].decode("ascii", "replace")
        request_id = self.instance.store.insert(
            "requests", at=self.instance.clock.stamp(), method=scope["method"], path=scope["path"],
            query="[MASKED]" if "token" in query else query, status=status, fault=fault or None,
            user_agent=headers.get(b"user-agent", b"").decode("ascii", "replace"),
            duration_s=round(duration_s, 6),
        )  # fmt: skip
        if request_id % 1000 == 0:
            self.instance.store.execute("DELETE FROM requests WHERE id <= ?", request_id - KEPT_REQUESTS)


async def _answer(send: Send, status: int, body: Any, headers: dict[str, str]) -> None:
    content = (
        body.encode()
        if isinstance(body, str)
        else json.dumps(body if body is not None else {"message": f"{status} Error"}).encode()
    )
    kind = "text/plain" if isinstance(body, str) else "application/json"
    pairs = {"content-type": kind, "content-length": str(len(content))} | {
        name.lower(): value for name, value in headers.items()
    }
    encoded = [(name.encode(), value.encode()) for name, value in pairs.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": content})


async def _sink(_: Message) -> None:
    """Let an answer get lost."""


def _abort(send: Send) -> None:
    """Cut the connection; uvicorn's send is a method of the object that owns it."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionResetError("a fault cuts this connection")
    transport.abort()
