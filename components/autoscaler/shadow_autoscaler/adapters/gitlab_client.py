"""Calls of GitLab's API: limits kept, writes one at a time, lists page by page until their end."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ValidationError

from shadow_autoscaler.adapters.brake import Brake
from shadow_autoscaler.adapters.event_errors import items, sentence
from shadow_autoscaler.adapters.http_text import clip
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

if TYPE_CHECKING:
    import requests

    from shadow_autoscaler.adapters.gitlab_sdk import Client

M = TypeVar("M", bound=BaseModel)
Secret = Callable[[], str]
"""Gives a secret, read anew at each use."""
DEFAULT_URL: Final = "https://gitlab.com"
_MAX_PAGES: Final = 100


class CallError(PortError):
    """A failed call, with the status that callers tell apart; 0 where there was no answer."""

    def __init__(self, failure: Failure, status: int) -> None:
        super().__init__(failure)
        self.status = status


@dataclass(slots=True)
class GitLabClient:
    """One token's calls. Proxies come from the environment."""

    url: str
    token: Secret = field(repr=False)
    timeout_s: float = 20.0
    ca_file: str = ""
    brake: Brake = field(default_factory=lambda: Brake(writes_per_minute=600))
    _clients: "list[Client]" = field(default_factory=list["Client"], repr=False)
    _secret: str = field(default="", repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get(self, path: str, **params: Any) -> "requests.Response":
        """Read one thing."""
        return self._send("get", path, params, None)

    def find(self, path: str, model: type[M], **params: Any) -> M | None:
        """Read one thing as a model; None where GitLab says 404."""
        try:
            response = self.get(path, **params)
        except CallError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None
        return understood(model, response, path)

    def pages(self, path: str, **params: Any) -> "Iterator[requests.Response]":
        """Read page after page; raises rather than leave one out."""
        wanted: dict[str, Any] = {"per_page": 100, **params}
        for _ in range(_MAX_PAGES):
            response = self.get(path, **wanted)
            yield response
            following = response.links.get("next", {}).get("url", "")
            if not following:
                return
            # Only the query: the server may know itself by another address than we do.
            wanted = _query(following)
        raise CallError(Failure(FailureKind.CONFIG, f"GET {path}: more than {_MAX_PAGES} pages"), 0)

    def listed(self, path: str, model: type[M], **params: Any) -> Iterator[M]:
        """Read all items of a list as models."""
        for response in self.pages(path, **params):
            yield from understood_all(model, response, path)

    def write(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> "requests.Response":
        """Change something: sent once, after all other writes."""
        with self._writing:
            self.brake.check("")
            self.brake.count_write()
            return self._send(method, path, {}, body)

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            client.close()

    def _send(
        self, method: str, path: str, params: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> "requests.Response":
        from shadow_autoscaler.adapters.gitlab_sdk import EXPECTED  # noqa: PLC0415 - loads python-gitlab

        self.brake.check("")
        client = self._current()
        try:
            response = client.send(method, path, params, body)
        except EXPECTED as error:
            failure, status = client.fault_of(error, f"{method.upper()} {path}", write=method != "get")
            if failure.kind is FailureKind.THROTTLED:
                wait = self.brake.refused("", failure.retry_after_s)
                failure = Failure(failure.kind, failure.text, retry_after_s=wait)
            raise CallError(failure, status) from None
        self.brake.passed()
        return response

    def _current(self) -> "Client":
        from shadow_autoscaler.adapters.gitlab_sdk import Client  # noqa: PLC0415 - loads python-gitlab

        secret = self.token().strip()
        with self._lock:
            if not self._clients or secret != self._secret:
                # Former ones stay open: another thread may be in the middle of a call.
                verify = self.ca_file or True
                self._clients.append(Client(self.url, secret, timeout_s=self.timeout_s, verify=verify))
                self._secret = secret
            return self._clients[-1]


def _query(url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in parse_qsl(urlsplit(url).query):
        found.setdefault(name, []).append(value)
    return found


def time_of(response: "requests.Response") -> float | None:
    """When the server answered, by its own clock."""
    try:
        return parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except ValueError:
        return None


def understood(model: type[M], response: "requests.Response", path: str) -> M:
    """Read an answer as a model.

    Raises:
        CallError: TRANSIENT, such as for the page of a proxy in between.
    """
    try:
        return model.model_validate_json(response.content)
    except ValidationError as error:
        raise _not_understood(path, error) from None


def understood_all(model: type[M], response: "requests.Response", path: str) -> list[M]:
    """Read an answer as a list of models, as `understood`."""
    try:
        return [model.model_validate(item) for item in items(response.json())]
    except ValidationError as error:
        raise _not_understood(path, error) from None
    except ValueError as error:
        text = clip(f"GET {path}: the answer is not what GitLab documents: {error}")
        raise CallError(Failure(FailureKind.TRANSIENT, text), 0) from None


def _not_understood(path: str, error: ValidationError) -> CallError:
    text = clip(f"GET {path}: the answer is not what GitLab documents: {sentence(error)}")
    return CallError(Failure(FailureKind.TRANSIENT, text), 0)
