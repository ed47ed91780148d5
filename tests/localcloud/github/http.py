"""What an endpoint is: its route, what it needs, the call it gets and the reply it gives."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from localcloud.github.principal import Access, Principal
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

NO_DOC: Doc = {}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: a JSON body, or a text of another media type."""

    body: object = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    text: str | bytes | None = None
    media_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Call:
    """One request after authentication, with the organisation or repository that its path names."""

    sim: Simulator
    principal: Principal
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    url: str
    body: Doc = field(default_factory=dict[str, object])
    org: Doc = field(default_factory=dict[str, object])
    repo: Doc = field(default_factory=dict[str, object])

    def number(self, name: str) -> int:
        """A path part that is a number; anything else is an unknown thing (404)."""
        text = self.path[name]
        return int(text) if text.isdecimal() else -1


Handler: TypeAlias = Callable[[Call], Reply] | Callable[[Call], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route with its handler and what it needs; `bucket` is the rate-limit resource."""

    method: str
    path: str
    handler: Handler
    access: Access
    bucket: str
    content: bool


class Api:
    """A list of endpoints that a module adds to by decorators."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []

    def route(
        self, method: str, path: str, access: Access, *, bucket: str = "core", content: bool = False
    ) -> Callable[[Handler], Handler]:
        """Register a handler; `content` marks calls that count as content-creating."""

        def register(handler: Handler) -> Handler:
            self.endpoints.append(Endpoint(method, path, handler, access, bucket, content))
            return handler

        return register


NO_CONTENT = Reply(status=204)
