"""The status page: read-only, behind a token, refreshed while it is looked at."""

import asyncio
import hashlib
import hmac
import logging
import re
import time
from collections.abc import Sequence
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.core.state import State
from shadow_autoscaler.edge.page import render
from shadow_autoscaler.edge.page.facts import Facts, gather
from shadow_autoscaler.edge.web.bodies import TooLargeError, read
from shadow_autoscaler.edge.web.health import bearer, matches
from shadow_autoscaler.edge.wiring import Base
from shadow_autoscaler.ports import LeaseLostError
from shadow_autoscaler.runtime.service import Service

_log = logging.getLogger(__name__)
COOKIE = "shadow_autoscaler_session"
SESSION_S = 12 * 3600
WRONG_TOKEN_S = 1.0
"""How long a wrong token is pondered."""
AUDIT_LINES = 40
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class StatusPage:
    """Serves the page to those who know the status token."""

    def __init__(self, base: Base, service: Service) -> None:
        self._base, self._service = base, service
        self._token = base.config.status_token

    def routes(self) -> Sequence[Route]:
        """Return the routes; none where no status token is configured."""
        if not self._token:
            return ()
        return (
            Route("/", self._page),
            Route("/live", self._live),
            Route("/status.json", self._json),
            Route("/login", self._login, methods=["GET", "POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Route("/assets/{name}", self._asset),
        )

    async def _page(self, request: Request) -> Response:
        if not self._known(request):
            return RedirectResponse("/login", 303, _HEADERS)
        return HTMLResponse(render.page(await self._facts()), headers=_HEADERS)

    async def _live(self, request: Request) -> Response:
        if not self._known(request):
            return PlainTextResponse("sign in\n", 401, _HEADERS)
        return HTMLResponse(render.live(await self._facts()), headers=_HEADERS)

    async def _json(self, request: Request) -> Response:
        if not self._known(request):
            remedy = "send the status token as a bearer token"
            return JSONResponse({"error": "who are you?", "remedy": remedy}, 401, _HEADERS)
        return JSONResponse((await self._facts()).plain(), headers=_HEADERS)

    async def _login(self, request: Request) -> Response:
        if request.method != "POST":
            return HTMLResponse(render.login(wrong=False), headers=_HEADERS)
        try:
            form = parse_qs((await read(request, 4096)).decode("utf-8", "replace"))
        except TooLargeError:
            return PlainTextResponse("too large\n", 413, _HEADERS)
        except ClientDisconnect:
            return Response(status_code=400)
        if not self._right(form.get("token", [""])[0]):
            peer = request.client.host if request.client else ""
            _log.warning("wrong status token", extra={"address": peer})
            await asyncio.sleep(WRONG_TOKEN_S)
            return HTMLResponse(render.login(wrong=True), 401, _HEADERS)
        answer = RedirectResponse("/", 303, _HEADERS)
        secure = self._base.config.callback_url.startswith("https://")
        answer.set_cookie(COOKIE, self._session(), SESSION_S, httponly=True, secure=secure, samesite="strict")
        return answer

    async def _logout(self, _request: Request) -> Response:
        answer = RedirectResponse("/login", 303, _HEADERS)
        answer.delete_cookie(COOKIE)
        return answer

    async def _asset(self, request: Request) -> Response:
        kind = render.ASSETS.get(request.path_params["name"])
        if kind is None:
            return PlainTextResponse("not found\n", 404)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(render.asset(request.path_params["name"]), media_type=kind, headers=headers)

    async def _facts(self) -> Facts:
        return await run_in_threadpool(self._gather)

    def _gather(self) -> Facts:
        engine = self._service.engine
        try:
            state, role = engine.read(copied), "decides"
        except LeaseLostError:
            state, role = engine.store.load(), "standby"
        audit = engine.store.audit(limit=AUDIT_LINES)
        return gather(state, engine.deployment, engine.clock(), audit, role)

    def _right(self, given: str) -> bool:
        try:
            return bool(self._token and given) and matches(self._base.secrets, self._token or "", given)
        except PortError:
            return False

    def _known(self, request: Request) -> bool:
        given = bearer(request)
        return self._right(given) if given else self._valid(request.cookies.get(COOKIE, ""))

    def _session(self) -> str:
        until = int(time.time()) + SESSION_S
        return f"{until}.{_seal(self._base.secrets.get(self._token or '')[0], until)}"

    def _valid(self, session: str) -> bool:
        until, _, seal = session.partition(".")
        if not re.fullmatch("[0-9]{1,12}", until) or int(until) < time.time():
            return False
        try:
            tokens = self._base.secrets.get(self._token or "")
        except PortError:
            return False
        return any(hmac.compare_digest(_seal(token, int(until)).encode(), seal.encode()) for token in tokens)


def copied(state: State) -> State:
    """Return a copy to look at without holding the engine up."""
    return State(
        dict(state.jobs),
        dict(state.vms),
        dict(state.pools),
        dict(state.suspects),
        dict(state.alarms),
        state.quota,
        state.counters,
    )


def _seal(token: str, until: int) -> str:
    return hmac.new(token.encode(), f"status-page.{until}".encode(), hashlib.sha256).hexdigest()
