"""Puts the endpoints, the control API and the background loops together as one ASGI application."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route

from localcloud.github import (
    control,
    control_runs,
    deliveries,
    pages,
    rest_accounts,
    rest_apps,
    rest_checks,
    rest_git,
    rest_graphql,
    rest_groups,
    rest_hooks,
    rest_limits,
    rest_pulls,
    rest_runners,
    rest_runs,
    rest_variables,
    runner_protocol,
    scheduler,
    seeds,
)
from localcloud.github.errors import not_found
from localcloud.github.gate import Gate
from localcloud.github.http import Endpoint
from localcloud.github.simulator import Simulator

# Of two routes that fit, the first is taken: checks and apps have the more exact ones.
_MODULES = (
    rest_apps,
    rest_checks,
    rest_accounts,
    rest_git,
    rest_graphql,
    rest_groups,
    rest_hooks,
    rest_pulls,
    rest_runners,
    rest_runs,
    rest_variables,
)


def build(sim: Simulator) -> Starlette:
    """The application of one simulator."""
    seeds.plant(sim)
    gate = Gate(sim)
    endpoints = [item for module in _MODULES for item in module.api.endpoints]
    endpoints += rest_limits.make(gate.limits).endpoints
    api = [_route(gate, item) for item in endpoints]
    return Starlette(
        routes=[
            Route("/-/health", _health),
            *control.routes(gate, control_runs.ROUTES),
            *runner_protocol.Protocol(gate).routes(),
            *pages.routes(sim),
            Mount("/api/v3", routes=[*api, Route("/{rest:path}", _unknown, methods=_METHODS)]),
            *api,
            Route("/{rest:path}", _unknown, methods=_METHODS),
        ],
        lifespan=_lifespan(sim),
    )


_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def _route(gate: Gate, endpoint: Endpoint) -> Route:
    async def serve(request: Request) -> Response:
        return await gate.serve(request, endpoint)

    return Route(endpoint.path, serve, methods=[endpoint.method])


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _unknown(request: Request) -> Response:
    return JSONResponse(not_found().body(), 404)


def _lifespan(sim: Simulator) -> Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def run(app: Starlette) -> AsyncGenerator[None]:
        loops: list[Awaitable[None]] = [deliveries.Sender(sim).run(), scheduler.run(sim)]
        tasks = [asyncio.ensure_future(loop) for loop in loops]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            sim.store.close()

    return run
