"""The ASGI application: all routes of one instance behind the gate."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from localcloud.gitlab import git_http, pages, sim, workers
from localcloud.gitlab.api import (
    groups,
    hooks,
    jobs,
    merge_requests,
    pipelines,
    projects,
    repository,
    runners,
    users,
)
from localcloud.gitlab.gate import Gate
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.runner import contact
from localcloud.gitlab.runner import jobs as runner_jobs

PARTS = (
    contact, runner_jobs, users, groups, projects, repository, pipelines, jobs, merge_requests, hooks,
    runners, sim,
)  # fmt: skip


async def health(_: Request) -> Response:
    """Answers as soon as requests are served."""
    return PlainTextResponse("GitLab OK")


async def unknown(_: Request) -> Response:
    """A path of the API that does not exist."""
    return JSONResponse({"error": "404 Not Found"}, 404)


def build(instance: Instance) -> ASGIApp:
    """The application of an instance."""
    git = "/{path:path}.git/{tail:path}"
    routes: list[BaseRoute] = [Route("/-/health", health), Route("/-/readiness", health)]
    routes += [route for part in PARTS for route in part.api.routes]
    routes.append(Route("/api/{rest:path}", unknown, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]))
    routes.append(Route(git, git_http.serve, methods=["GET", "POST"]))
    app = Starlette(routes=[*routes, *pages.routes], lifespan=lambda _: workers.running(instance))
    app.state.instance = instance
    return Gate(app, instance)
