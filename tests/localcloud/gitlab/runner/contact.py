"""How a runner proves itself, is refused, and leaves."""

from starlette.responses import JSONResponse, PlainTextResponse, Response

from localcloud.gitlab import runners
from localcloud.gitlab.api.core import Api, Call
from localcloud.gitlab.errors import forbidden, refused
from localcloud.gitlab.shapes import tree
from localcloud.gitlab.store import Row

api = Api()


def info_of(call: Call) -> Row:
    """What the runner says about itself."""
    return tree(call.params.raw("info"))


def identify(call: Call) -> tuple[Row, Row | None]:
    """The runner whose token came in the body or the Runner-Token header, and its manager."""
    token = call.params.text("token") or call.request.headers.get("runner-token", "")
    runner = runners.by_token(call.instance, token)
    address = call.request.client.host if call.request.client else ""
    return runner, runners.heartbeat(
        call.instance, runner, call.params.text("system_id"), info_of(call), address
    )


@api.post("/runners")
def register(call: Call) -> None:
    """Registration tokens are switched off, as on a new GitLab since 17.0."""
    token = call.params.need("token")
    call.params.check()
    if token.startswith("glrt-"):
        raise forbidden("runner type not allowed to register")
    raise refused(410, "410 Gone - runner registration disallowed")


@api.post("/runners/verify")
def verify(call: Call) -> Response:
    """Check a runner's token."""
    call.params.need("token")
    call.params.check()
    runner, _ = identify(call)
    return JSONResponse(
        {"id": runner["id"], "token": runner["token"], "token_expires_at": runner["token_expires_at"]}
    )


@api.delete("/runners")
def unregister(call: Call) -> None:
    """Delete the runner that has this token."""
    call.params.need("token")
    call.params.check()
    runner, _ = identify(call)
    call.store.delete("runners", id=runner["id"])


@api.delete("/runners/managers")
def unregister_manager(call: Call) -> None:
    """Forget one machine of a runner."""
    token, system_id = call.params.need("token"), call.params.need("system_id")
    call.params.check()
    runner = runners.by_token(call.instance, token)
    if not call.store.delete("managers", runner_id=runner["id"], system_id=system_id):
        raise refused(404, "404 Not Found")


@api.post("/runners/reset_authentication_token")
def reset_token(call: Call) -> Row:
    """Exchange the token for a new one."""
    call.params.need("token")
    call.params.check()
    runner, _ = identify(call)
    token = runners.new_token()
    call.store.update("runners", runner["id"], token=token)
    return {"token": token, "token_expires_at": runner["token_expires_at"]}


@api.get("/runners/router/discovery")
def router(call: Call) -> Response:
    """There is no job router on this server."""
    identify(call)
    return PlainTextResponse("501 Not Implemented", 501)
