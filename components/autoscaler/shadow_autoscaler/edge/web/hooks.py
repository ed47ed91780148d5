"""`POST /webhook/github` and `/webhook/gitlab`: answered once the delivery is durable."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.edge.config import Config
from shadow_autoscaler.edge.gate import Gate
from shadow_autoscaler.edge.intake import FullError, Intake
from shadow_autoscaler.edge.metrics import Metrics
from shadow_autoscaler.edge.web.bodies import TooLargeError, read
from shadow_autoscaler.edge.webhooks import verdicts
from shadow_autoscaler.ports import Delivery

_log = logging.getLogger(__name__)
Handler = Callable[[Request], Awaitable[Response]]


class Hooks:
    """Takes webhooks in."""

    def __init__(self, config: Config, gate: Gate, intake: Intake, metrics: Metrics) -> None:
        self._limit = config.listen.max_body_mib * 1024 * 1024
        self._gate, self._intake, self._metrics = gate, intake, metrics

    def endpoint(self, forge: str) -> Handler:
        """Return the handler of a forge's webhooks."""

        async def handle(request: Request) -> Response:
            with self._metrics.webhook_s.labels(forge).time():
                result, response = await self._handle(request, forge)
            self._metrics.webhooks.labels(forge, result).inc()
            return response

        return handle

    async def _handle(self, request: Request, forge: str) -> tuple[str, Response]:
        try:
            body = await read(request, self._limit)
        except TooLargeError as error:
            _log.error("alarm: webhook too large: %s", error, extra={"forge": forge})
            return "too-large", _refusal(413, f"the body is too large: {error}", "raise listen.max_body_mib")
        except ClientDisconnect:
            return "disconnected", Response(status_code=400)
        try:
            verdict = self._gate.judge(forge, verdicts.Request(dict(request.headers), body, time.time()))
        except PortError as error:
            _log.error("webhook not judged: %s", error, extra={"forge": forge})
            return "failed", _refusal(503, "the webhook's secret cannot be read", "see the server's log", 30)
        return await self._answer(verdict, forge)

    async def _answer(self, verdict: verdicts.Verdict, forge: str) -> tuple[str, Response]:
        match verdict:
            case verdicts.Refused(status=status, error=error, remedy=remedy):
                _log.warning("webhook refused: %s", error, extra={"forge": forge, "status": status})
                return "refused", _refusal(status, error, remedy)
            case verdicts.Ignored(reason=reason, status=status):
                return "ignored", JSONResponse({"result": "ignored", "reason": reason}, status)
            case verdicts.Accepted(delivery=delivery, old_secret=old_secret):
                if old_secret:
                    self._metrics.old_secret.labels(forge).inc()
                return await self._write(delivery)

    async def _write(self, delivery: Delivery) -> tuple[str, Response]:
        try:
            fresh = await asyncio.wrap_future(self._intake.submit(delivery))
        except (FullError, PortError) as error:
            _log.error("webhook not written: %s", error, extra={"delivery": delivery.delivery_id})
            return "failed", _refusal(503, "the delivery could not be written", "deliver it again", 5)
        if fresh:
            return "accepted", JSONResponse({"result": "accepted"}, 202)
        return "duplicate", JSONResponse({"result": "already handled"}, 202)


def _refusal(status: int, error: str, remedy: str, retry_after_s: int = 0) -> Response:
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s else None
    return JSONResponse({"error": error, "remedy": remedy}, status, headers)
