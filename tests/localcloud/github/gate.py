"""The way of one REST call: fault, caller, limits, target, permission, handler, ETag, commit."""

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass, field, replace

from starlette.requests import Request
from starlette.responses import Response

from localcloud.github import faults, targets
from localcloud.github.app_jwt import app_principal, looks_like_jwt
from localcloud.github.errors import ApiError, bad_credentials
from localcloud.github.http import Call, Endpoint, Reply
from localcloud.github.journal import Journal, masked
from localcloud.github.limits import Limits
from localcloud.github.principal import ANONYMOUS, Principal
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc, as_doc, as_list
from localcloud.github.tokens import bearer, lookup, random_text

_BODY_METHODS = ("POST", "PUT", "PATCH", "DELETE")
_MAX_BODY = 25 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Seen:
    """One request while it is served."""

    request: Request
    endpoint: Endpoint
    body: Doc
    started: float


@dataclass(slots=True)
class Gate:
    """Serves REST calls of one simulator."""

    sim: Simulator
    limits: Limits = field(default_factory=Limits)
    journal: Journal = field(default_factory=Journal)

    async def serve(self, request: Request, endpoint: Endpoint) -> Response:
        """Answer one request; whatever it changed is durable before the answer is sent."""
        body, error = await read_body(request)
        seen = _Seen(request, endpoint, body, time.monotonic())
        path = _bare_path(request)
        rule = faults.take(self.sim, faults.REQUEST_KINDS, request.method, path)
        if rule is not None and rule.get("delay_s"):
            await asyncio.sleep(rule["delay_s"])
        reply, caller = await self._answer(seen, rule, error)
        self.sim.store.commit()
        self._log(seen, path, caller, reply.status)
        return self._respond(seen, caller, reply)

    async def _answer(self, seen: _Seen, rule: Doc | None, error: ApiError | None) -> tuple[Reply, Principal]:
        caller = ANONYMOUS
        try:
            if error is not None:
                raise error
            caller = self.caller(seen.request)
            injected = self._injected(rule, caller, seen)
            if injected is not None:
                return injected, caller
            reply = await self._handle(seen, caller)
            if rule is not None and rule["kind"] == "after":
                return _as_reply(faults.answer(rule)), caller
        except ApiError as problem:
            return Reply(problem.body(), problem.status, problem.headers), caller
        return reply, caller

    def _injected(self, rule: Doc | None, caller: Principal, seen: _Seen) -> Reply | None:
        if rule is None or rule["kind"] == "after" or (set(rule) >= {"delay_s"} and "status" not in rule):
            return None
        if rule["kind"] == "primary_limit":
            self.limits.exhaust(self.sim, caller, seen.endpoint.bucket)
            return None
        return _as_reply(faults.answer(rule))

    def caller(self, request: Request) -> Principal:
        """Who calls.

        Raises:
            ApiError: 401 for a token that is not valid.
        """
        header = request.headers.get("authorization")
        if not header:
            return ANONYMOUS
        token = bearer(header)
        if token is None:
            raise bad_credentials()
        if looks_like_jwt(token):
            return app_principal(self.sim, token)
        found = lookup(self.sim, token)
        if found is None:
            raise bad_credentials()
        return found

    async def _handle(self, seen: _Seen, caller: Principal) -> Reply:
        endpoint = seen.endpoint
        route = (endpoint.method, endpoint.path)
        free = endpoint.path == "/rate_limit"
        if not free:
            self.limits.admit(self.sim, caller, endpoint.bucket)
            self.limits.admit_burst(self.sim, caller, route, content=endpoint.content)
        self.limits.running[caller.key] += 1
        try:
            reply = await self._call(seen, caller)
        except ApiError:
            self._count(caller, endpoint, free=free)
            raise
        finally:
            self.limits.running[caller.key] -= 1
        reply = _with_etag(seen.request, reply)
        self._count(caller, endpoint, free=free or reply.status == 304)
        return reply

    def _count(self, caller: Principal, endpoint: Endpoint, *, free: bool) -> None:
        if not free:
            self.limits.count(self.sim, caller, endpoint.bucket)

    async def _call(self, seen: _Seen, caller: Principal) -> Reply:
        request = seen.request
        call = Call(
            sim=self.sim,
            principal=caller,
            path={name: str(value) for name, value in request.path_params.items()},
            query=dict(request.query_params),
            headers=request.headers,
            url=str(request.url),
            body=seen.body,
        )
        org, repo = targets.resolve(call, seen.endpoint.access)
        result = seen.endpoint.handler(replace(call, org=org, repo=repo))
        if isinstance(result, Reply):
            return result
        return await result

    def _respond(self, seen: _Seen, caller: Principal, reply: Reply) -> Response:
        headers = {
            "X-GitHub-Request-Id": random_text(20).upper(),
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Api-Version-Selected": seen.request.headers.get("x-github-api-version", "2022-11-28"),
            **self.limits.headers(self.sim, caller, seen.endpoint.bucket),
        }
        if caller.kind == "user":
            headers["X-OAuth-Scopes"] = ", ".join(sorted(caller.scopes))
            headers["X-Accepted-OAuth-Scopes"] = ", ".join(seen.endpoint.access.scopes)
        headers.update(reply.headers)
        if reply.text is not None:
            return Response(reply.text, reply.status, headers, reply.media_type)
        if reply.status in (204, 304):
            return Response(None, reply.status, headers)
        return Response(_dump(reply.body), reply.status, headers, "application/json; charset=utf-8")

    def _log(self, seen: _Seen, path: str, caller: Principal, status: int) -> None:
        self.journal.add(
            {
                "at": self.sim.clock.iso(),
                "method": seen.request.method,
                "path": path,
                "query": str(seen.request.query_params),
                "caller": caller.key,
                "body": masked(seen.body),
                "status": status,
                "duration_s": round(time.monotonic() - seen.started, 4),
            }
        )


def _bare_path(request: Request) -> str:
    return request.url.path.removeprefix("/api/v3")


def _as_reply(injected: faults.Injected) -> Reply:
    if isinstance(injected.body, str):
        return Reply(None, injected.status, injected.headers, text=injected.body)
    return Reply(injected.body, injected.status, injected.headers)


async def read_body(request: Request) -> tuple[Doc, ApiError | None]:
    """JSON body of a request, or the error to answer; an array is kept under the empty key."""
    raw = await request.body() if request.method in _BODY_METHODS else b""
    if len(raw) > _MAX_BODY:
        return {}, ApiError(413, "Request body is too large")
    try:
        value: object = json.loads(raw) if raw.strip() else {}
    except ValueError:
        return {}, ApiError(400, "Problems parsing JSON")
    items = as_list(value)
    doc = as_doc(value) if items is None else {"": items}
    if doc is None:
        return {}, ApiError(400, "Body should be a JSON object")
    return doc, None


def _dump(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _with_etag(request: Request, reply: Reply) -> Reply:
    if reply.body is None or reply.text is not None or reply.status >= 300:
        return reply
    etag = f'W/"{hashlib.sha256(_dump(reply.body)).hexdigest()}"'
    headers = {**reply.headers, "ETag": etag, "Cache-Control": "private, max-age=60, s-maxage=60"}
    known = [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]
    if request.method == "GET" and (etag in known or etag.removeprefix("W/") in known):
        return Reply(None, 304, headers)
    return Reply(reply.body, reply.status, headers)
