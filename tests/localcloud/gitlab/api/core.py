"""How an endpoint is declared and called: routes, the caller's identity, answers, and refusals."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localcloud.gitlab import access, params
from localcloud.gitlab.errors import ApiError, unauthorized
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row, Store

READ = ("api", "read_api")
WRITE = ("api",)


@dataclass(slots=True)
class Call:
    """One request to the API, with its parameters read and its path pieces decoded."""

    request: Request
    instance: Instance
    params: params.Params
    scopes: tuple[str, ...]
    _user: Row | None = field(default=None)

    @property
    def store(self) -> Store:
        """The instance's database."""
        return self.instance.store

    def piece(self, name: str) -> str:
        """A piece of the path, percent-decoded."""
        return unquote(self.request.path_params[name])

    def number(self, name: str) -> int:
        """A numeric piece of the path."""
        text = self.piece(name)
        if not text.isdecimal():
            raise ApiError(400, {"error": f"{name} is invalid"})
        return int(text)

    def token(self) -> str:
        """The access token sent with the call, or nothing."""
        headers = self.request.headers
        bearer = headers.get("authorization", "")
        bearer = bearer[7:] if bearer.lower().startswith("bearer ") else ""
        return headers.get("private-token") or bearer or self.request.query_params.get("private_token", "")

    def visitor(self) -> Row | None:
        """The caller, or None when no token was sent."""
        if self._user is None:
            if token := self.token():
                self._user = access.user_of_token(self.instance, token, self.scopes)
            elif job_token := self.request.headers.get("job-token", ""):
                self._user = access.user_of_job(self.instance, job_token)
                if self._user is None:
                    raise unauthorized()
        return self._user

    @property
    def user(self) -> Row:
        """The caller, who must be signed in."""
        user = self.visitor()
        if user is None:
            raise unauthorized()
        return user

    def project(self, level: int = 0, name: str = "id") -> Row:
        """The project in the path, for a caller who has at least `level` in it."""
        return access.project_for(self.instance, self.visitor(), self.piece(name), level)

    def group(self, level: int = 0) -> Row:
        """The group in the path, for a caller who has at least `level` in it."""
        return access.group_for(self.instance, self.visitor(), self.piece("id"), level)


Endpoint = Callable[[Call], Any]


class Api:
    """A set of endpoints; `prefix` comes before every path."""

    def __init__(self, prefix: str = "/api/v4") -> None:
        self.prefix = prefix
        self.routes: list[Route] = []

    def on(self, method: str, path: str, scopes: Sequence[str] = ()) -> Callable[[Endpoint], Endpoint]:
        """Declare the endpoint of `method path`; extra `scopes` are accepted beside the usual ones."""

        def declare(endpoint: Endpoint) -> Endpoint:
            usual = READ if method == "GET" else WRITE
            handler = _handler(endpoint, (*usual, *scopes), {"POST": 201}.get(method, 200))
            self.routes.append(Route(self.prefix + path, handler, methods=[method]))
            return endpoint

        return declare

    def get(self, path: str, scopes: Sequence[str] = ()) -> Callable[[Endpoint], Endpoint]:
        """Declare a GET endpoint."""
        return self.on("GET", path, scopes)

    def post(self, path: str, scopes: Sequence[str] = ()) -> Callable[[Endpoint], Endpoint]:
        """Declare a POST endpoint, which answers 201 by default."""
        return self.on("POST", path, scopes)

    def put(self, path: str, scopes: Sequence[str] = ()) -> Callable[[Endpoint], Endpoint]:
        """Declare a PUT endpoint."""
        return self.on("PUT", path, scopes)

    def patch(self, path: str, scopes: Sequence[str] = ()) -> Callable[[Endpoint], Endpoint]:
        """Declare a PATCH endpoint."""
        return self.on("PATCH", path, scopes)

    def delete(self, path: str, scopes: Sequence[str] = ()) -> Callable[[Endpoint], Endpoint]:
        """Declare a DELETE endpoint, which answers 204 when the endpoint gives None."""
        return self.on("DELETE", path, scopes)


def _handler(endpoint: Endpoint, scopes: tuple[str, ...], status: int) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        instance: Instance = request.app.state.instance
        try:
            call = Call(request, instance, await params.read(request), scopes)
            result = endpoint(call)
            if inspect.isawaitable(result):
                result = await result
        except ApiError as error:
            return refusal(error)
        finally:
            await request.close()
        if isinstance(result, Response):
            return result
        return Response(status_code=204) if result is None else JSONResponse(result, status)

    return handle


def refusal(error: ApiError) -> Response:
    """The response of a refused call."""
    return JSONResponse(error.body, error.status, headers=error.headers)


def paged(call: Call, rows: Sequence[Row], show: Callable[[Row], Any]) -> Response:
    """One page of a list with GitLab's paging headers; `page` from 1, `per_page` at most 100."""
    page = max(call.params.integer("page", 1) or 1, 1)
    size = min(max(call.params.integer("per_page", 20) or 20, 1), 100)
    call.params.check()
    pages = max((len(rows) + size - 1) // size, 1)
    chosen = rows[(page - 1) * size : page * size]
    numbers = {
        "X-Page": page, "X-Per-Page": size, "X-Total": len(rows), "X-Total-Pages": pages,
        "X-Next-Page": page + 1 if page < pages else "", "X-Prev-Page": page - 1 if page > 1 else "",
    }  # fmt: skip
    headers = {name: str(number) for name, number in numbers.items()} | {
        "Link": _links(call, page, pages, size)
    }
    return JSONResponse([show(row) for row in chosen], headers=headers)


def keyset(call: Call, rows: Sequence[Row], show: Callable[[Row], Any]) -> Response:
    """One page of a list by `id`, newest first, that goes on after the last one shown."""
    size = min(max(call.params.integer("per_page", 20) or 20, 1), 100)
    before = call.params.integer("id_before")
    call.params.check()
    left = [row for row in rows if before is None or row["id"] < before]
    chosen = left[:size]
    headers: dict[str, str] = {}
    if len(left) > size:
        url = call.request.url.include_query_params(id_before=chosen[-1]["id"])
        base = call.instance.settings.url + call.request.url.path
        headers["Link"] = f'<{base}?{url.query}>; rel="next"'
    return JSONResponse([show(row) for row in chosen], headers=headers)


def _links(call: Call, page: int, pages: int, size: int) -> str:
    base = call.instance.settings.url + call.request.url.path
    url = call.request.url.replace_query_params()
    others = [
        (key, value)
        for key, value in call.request.query_params.multi_items()
        if key not in {"page", "per_page"}
    ]
    query = str(url.include_query_params(**dict(others)).query)
    targets = {"prev": page - 1, "next": page + 1, "first": 1, "last": pages}
    return ", ".join(
        f'<{base}?{query}{"&" if query else ""}page={number}&per_page={size}>; rel="{name}"'
        for name, number in targets.items()
        if 1 <= number <= pages
    )
