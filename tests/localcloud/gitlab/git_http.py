"""Git over HTTP: git's own http-backend, behind GitLab's authentication."""

import asyncio
import base64
import binascii
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from localcloud.gitlab import access
from localcloud.gitlab.errors import ApiError
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row
from localcloud.gitlab.triggers import after_push
from localcloud.gitlab.variables import is_protected

CHUNK = 64 * 1024
NOT_ALLOWED = "You are not allowed to push code to this project."
DENIED = PlainTextResponse(
    "HTTP Basic: Access denied. If a password was provided for Git authentication, the password was "
    "incorrect or you're required to use a token instead of a password.",
    401,
    {"WWW-Authenticate": 'Basic realm="GitLab"'},
)


@dataclass(frozen=True, slots=True)
class Access:
    """A Git request that is allowed."""

    project: Row
    user: Row | None
    service: str


async def serve(request: Request) -> Response:
    """Answer `info/refs`, `git-upload-pack` and `git-receive-pack` of a project."""
    instance: Instance = request.app.state.instance
    tail = request.path_params["tail"]
    service = request.query_params.get("service", "") if tail == "info/refs" else tail
    found = authorise(instance, request, service)
    if isinstance(found, Response):
        return found
    return await _run(instance, request, found, tail)


def authorise(instance: Instance, request: Request, service: str) -> Access | Response:
    """Check token, visibility and level; gives the response of a refusal."""
    try:
        user = _user(instance, request, service)
    except ApiError as error:
        return PlainTextResponse(NOT_ALLOWED, 403) if error.status == 403 else DENIED
    project = instance.store.one("projects", full_path=request.path_params["path"])
    level = access.level_in_project(instance, user, project) if project else 0
    if project is None or not access.can_see(user, level, project["visibility"]):
        text = "The project you were looking for could not be found or you don't have permission to view it."
        return PlainTextResponse(text, 404) if user else DENIED
    pushing = service == "git-receive-pack"
    if pushing and (user is None or level < access.DEVELOPER):
        return PlainTextResponse(NOT_ALLOWED, 403) if user else DENIED
    return Access(project, user, service)


def _user(instance: Instance, request: Request, service: str) -> Row | None:
    header = request.headers.get("authorization", "")
    if not header.lower().startswith("basic "):
        return None
    try:
        name, _, password = base64.b64decode(header[6:]).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if name == "gitlab-ci-token":
        user = access.user_of_job(instance, password)
        if user is None or service == "git-receive-pack":
            raise ApiError(401, {})
        return user
    scopes = ("api", "write_repository")
    return access.user_of_token(
        instance,
        password,
        scopes if service == "git-receive-pack" else (*scopes, "read_repository", "read_api"),
    )


async def _run(instance: Instance, request: Request, allowed: Access, tail: str) -> Response:
    process = await asyncio.create_subprocess_exec(
        "git", "http-backend", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=_environment(instance, request, allowed, tail),
    )  # fmt: skip
    feeding = asyncio.create_task(_feed(request, process))
    if process.stdout is None:
        raise RuntimeError("git http-backend was started without a pipe for its output")
    status, headers = await _head(process.stdout)

    async def finish() -> None:
        await feeding
        await process.wait()

    if tail == "git-receive-pack" and allowed.user:
        body = await process.stdout.read()
        await finish()
        after_push(instance, allowed.project, allowed.user)
        return Response(body, status, headers)
    return StreamingResponse(_chunks(process.stdout), status, headers, background=BackgroundTask(finish))


def _environment(instance: Instance, request: Request, allowed: Access, tail: str) -> dict[str, str]:
    headers = request.headers
    values = {
        "GIT_PROJECT_ROOT": str(instance.repositories.root), "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{allowed.project['id']}.git/{tail}", "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.url.query, "CONTENT_TYPE": headers.get("content-type", ""),
        "REMOTE_USER": allowed.user["username"] if allowed.user else "", "REMOTE_ADDR": "127.0.0.1",
        "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
        "GIT_PROTOCOL": headers.get("git-protocol", ""),
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"],
    }  # fmt: skip
    if length := headers.get("content-length"):
        values["CONTENT_LENGTH"] = length
    return values | _push_limits(instance, allowed)


def _push_limits(instance: Instance, allowed: Access) -> dict[str, str]:
    """Who isn't a maintainer can't move protected branches: they are hidden from the push."""
    level = access.level_in_project(instance, allowed.user, allowed.project)
    if allowed.service != "git-receive-pack" or level >= access.MAINTAINER:
        return {}
    refs = instance.repositories.refs(allowed.project["id"])
    heads = [name for name in refs if name.startswith("refs/heads/")]
    hidden = [
        name
        for name in heads
        if is_protected(instance, allowed.project["id"], name.removeprefix("refs/heads/"))
    ]
    pairs = {f"GIT_CONFIG_KEY_{i}": "receive.hideRefs" for i in range(len(hidden))}
    pairs |= {f"GIT_CONFIG_VALUE_{i}": name for i, name in enumerate(hidden)}
    return pairs | {"GIT_CONFIG_COUNT": str(len(hidden))}


async def _feed(request: Request, process: asyncio.subprocess.Process) -> None:
    if process.stdin is None:
        return
    try:
        async for chunk in request.stream():
            process.stdin.write(chunk)
            await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        return
    finally:
        process.stdin.close()


async def _head(stream: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    status, headers = 200, dict[str, str]()
    while line := (await stream.readline()).decode().strip():
        name, _, value = line.partition(":")
        if name.lower() == "status":
            status = int(value.split()[0])
        else:
            headers[name] = value.strip()
    return status, headers


async def _chunks(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while chunk := await stream.read(CHUNK):
        yield chunk
