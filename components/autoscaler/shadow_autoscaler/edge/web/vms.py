"""`POST /vm/v1/{vm}/…`: what VMs report, and the hand-over of their configuration."""

import asyncio
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.edge.callbacks import WAIT_S, Callbacks, Caller, Reply
from shadow_autoscaler.edge.intake import FullError, Intake
from shadow_autoscaler.edge.metrics import Metrics
from shadow_autoscaler.edge.web.bodies import TooLargeError, read

LIMIT = 16 * 1024
"""Bytes of a report at most."""


class Vms:
    """Answers VMs over HTTP."""

    def __init__(
        self, callbacks: Callbacks, intake: Intake, metrics: Metrics, wait_s: float = WAIT_S
    ) -> None:
        self._callbacks, self._intake, self._metrics = callbacks, intake, metrics
        self._wait_s = wait_s

    async def status(self, request: Request) -> Response:
        """Take a boot phase or the end of the job."""
        return await self._report(request, "status")

    async def reclaim(self, request: Request) -> Response:
        """Take the notice that the cloud takes the VM away."""
        return await self._report(request, "reclaim")

    async def config(self, request: Request) -> Response:
        """Hand the configuration over, or say when or why not."""
        body = await _body(request)
        if isinstance(body, Response):
            return body
        try:
            reply = await self._config(_caller(request), body)
        except PortError as error:
            reply = Reply(503, {"error": str(error), "remedy": "ask again"}, 5)
        self._metrics.handovers.labels(str(reply.status)).inc()
        self._count(reply, "config")
        return response(reply)

    async def _config(self, caller: Caller, body: bytes) -> Reply:
        begun = await run_in_threadpool(self._callbacks.config, caller, body)
        if isinstance(begun, Reply):
            return begun
        try:
            future = asyncio.wrap_future(begun)
            registration = await asyncio.wait_for(asyncio.shield(future), self._wait_s)
        except TimeoutError:
            return await run_in_threadpool(self._callbacks.give_up, caller.vm, begun)
        return await run_in_threadpool(self._callbacks.answer, caller.vm, registration)

    async def _report(self, request: Request, name: str) -> Response:
        body = await _body(request)
        if isinstance(body, Response):
            return body
        taken = await run_in_threadpool(self._callbacks.report, _caller(request), name, body)
        if isinstance(taken, Reply):
            self._count(taken, name)
            return response(taken)
        try:
            await asyncio.wrap_future(self._intake.submit(taken))
        except (FullError, PortError):
            return response(Reply(503, {"error": "not written", "remedy": "report it again"}, 5))
        return Response(status_code=204)

    def _count(self, reply: Reply, name: str) -> None:
        if reply.status == HTTPStatus.TOO_MANY_REQUESTS:
            self._metrics.throttled.labels(name).inc()


def response(reply: Reply) -> Response:
    """Return a reply as HTTP."""
    headers = {"Cache-Control": "no-store"}
    if reply.retry_after_s is not None:
        headers["Retry-After"] = str(reply.retry_after_s)
    if reply.body is None:
        return Response(status_code=reply.status, headers=headers)
    return JSONResponse(dict(reply.body), reply.status, headers)


def _caller(request: Request) -> Caller:
    address = request.client.host if request.client else ""
    return Caller(request.path_params["vm"], request.headers.get("authorization", ""), address)


async def _body(request: Request) -> bytes | Response:
    try:
        return await read(request, LIMIT)
    except TooLargeError as error:
        return JSONResponse({"error": f"the report is too large: {error}", "remedy": "shorten it"}, 413)
    except ClientDisconnect:
        return Response(status_code=400)
