"""`/healthz`, `/readyz` and `/metrics`."""

import hmac

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.edge.intake import Intake
from shadow_autoscaler.edge.metrics import Metrics
from shadow_autoscaler.ports import Secrets
from shadow_autoscaler.runtime.service import Service


def bearer(request: Request) -> str:
    """Return the bearer token that was sent, or nothing."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def matches(secrets: Secrets, name: str, given: str) -> bool:
    """Whether `given` is one of the values of a secret, compared in constant time."""
    encoded = given.encode("utf-8", "surrogateescape")
    return any([hmac.compare_digest(value.encode(), encoded) for value in secrets.get(name)])  # noqa: C419 -- compare all


class Health:
    """Tells machines how the server is."""

    def __init__(
        self, service: Service, intake: Intake, metrics: Metrics, secrets: Secrets, token: str | None
    ) -> None:
        self._service, self._intake, self._metrics = service, intake, metrics
        self._secrets, self._metrics_token = secrets, token

    async def alive(self, _request: Request) -> Response:
        """Say that the process lives, unless one of its loops has died."""
        dead = self._service.dead_loops() + ["intake"] * self._intake.dead
        if dead:
            return JSONResponse({"status": "dead", "loops": dead}, 500)
        return JSONResponse({"status": "alive"})

    async def ready(self, _request: Request) -> Response:
        """Say whether webhooks can be written down here, and whether somebody can decide on them."""
        try:
            await run_in_threadpool(self._service.engine.store.inbox, 1)
        except PortError as error:
            return JSONResponse({"status": "not ready", "reason": error.failure.text}, 503)
        if fault := self._service.fault:
            return JSONResponse({"status": "not ready", "role": "refuses", "reason": fault}, 503)
        role = "decides" if self._service.engine.active else "standby"
        return JSONResponse({"status": "ready", "role": role})

    async def metrics(self, request: Request) -> Response:
        """Give the metrics, in the text format of Prometheus."""
        try:
            if self._metrics_token and not matches(self._secrets, self._metrics_token, bearer(request)):
                return PlainTextResponse("send the metrics token as a bearer token\n", 401)
        except PortError as error:
            return PlainTextResponse(f"{error.failure.text}\n", 503)
        text = await run_in_threadpool(generate_latest, self._metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_LATEST)
