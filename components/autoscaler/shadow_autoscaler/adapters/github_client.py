"""Calls of GitHub's API with one credential: limits kept, writes one at a time, unchanged answers free."""

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic import ValidationError

from shadow_autoscaler.adapters.brake import Brake
from shadow_autoscaler.adapters.event_errors import sentence
from shadow_autoscaler.adapters.http_text import clip
from shadow_autoscaler.adapters.recent import Recent
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

if TYPE_CHECKING:
    import httpx

    from shadow_autoscaler.adapters.github_faults import Fault
    from shadow_autoscaler.adapters.github_sdk import Auth, Client

T = TypeVar("T")
DEFAULT_URL: Final = "https://api.github.com"
_VERSION: Final = {"X-GitHub-Api-Version": "2022-11-28"}
_PAGE: Final = 100
_MAX_PAGES: Final = 100
CORE, REGISTRATION = "core", "actions_runner_registration"


class Credential(Protocol):
    """How to sign in; `current` is compared, so that a rotated secret takes effect at the next call."""

    def current(self) -> tuple[str, ...]:
        """Read the secret anew; `PortError` where it is missing."""
        ...

    def auth(self, current: tuple[str, ...]) -> "Auth":
        """Return githubkit's form of it."""
        ...


@dataclass(frozen=True, slots=True)
class Connection:
    """Where GitHub is and how it is reached."""

    base_url: str = DEFAULT_URL
    """API root; `https://HOST/api/v3` of an Enterprise Server. Proxies come from the environment."""
    timeout_s: float = 20.0
    """Longest wait for each step of a call."""
    ca_file: str = ""
    """CA bundle (PEM) beside the system's own; `SSL_CERT_FILE` works, too."""
    transport: "httpx.BaseTransport | None" = None
    """Instead of the network, for tests."""
    clock: Callable[[], float] = time.monotonic
    """By what pauses are measured."""

    def client(self, auth: "Auth") -> "Client":
        """Return a client; githubkit is loaded now."""
        from shadow_autoscaler.adapters.github_sdk import Client  # noqa: PLC0415 - takes 0.7 s and 25 MiB

        return Client(
            auth, self.base_url, timeout_s=self.timeout_s, verify=self._verify(), transport=self.transport
        )

    def _verify(self) -> "ssl.SSLContext | bool":
        if not self.ca_file:
            return True
        context = ssl.create_default_context()
        try:
            context.load_verify_locations(self.ca_file)
        except OSError as error:
            text = f"CA bundle {self.ca_file} cannot be used: {error}; give a readable PEM file"
            raise PortError(Failure(FailureKind.CONFIG, clip(text))) from None
        return context


class CallError(PortError):
    """A failed call, with the status that callers tell apart; 0 where there was no answer."""

    def __init__(self, failure: Failure, status: int) -> None:
        super().__init__(failure)
        self.status = status


@dataclass(slots=True)
class GitHubClient:
    """One credential's calls."""

    connection: Connection
    credential: Credential
    brake: Brake = field(init=False)
    _clients: "list[Client]" = field(default_factory=list["Client"])
    _secret: tuple[str, ...] = ()
    _known: Recent[str, tuple[str, Any, bool]] = field(default_factory=Recent[str, tuple[str, Any, bool]])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Measure pauses by the connection's clock."""
        self.brake = Brake(clock=self.connection.clock)

    def get(self, path: str, read: Callable[[Any], T], **params: str | int) -> T:
        """Read one thing; an answer that has not changed since costs nothing of the hourly limit."""
        return self._conditional(path, read, params)[0]

    def pages(self, path: str, read: Callable[[Any], T], **params: str | int) -> Iterator[T]:
        """Read page after page until the last; raises rather than leave one out."""
        for number in range(1, _MAX_PAGES + 1):
            wanted = {**params, "per_page": _PAGE, "page": number}
            found, more = self._conditional(path, read, wanted)
            yield found
            if not more:
                return
        raise CallError(Failure(FailureKind.CONFIG, f"GET {path}: more than {_MAX_PAGES} pages"), 0)

    def raw(self, path: str, **params: str | int) -> "httpx.Response":
        """Read without remembering; gives the response, for its links."""
        return self._send("GET", path, CORE, params=params)

    def write(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, kind: str = CORE
    ) -> Any:
        """Change something: sent once, after all other writes; gives the answer's JSON, or None."""
        with self._writing:
            self.brake.check(kind)
            self.brake.count_write()
            response = self._send(method, path, kind, body=body)
        if not response.content:
            return None
        return _understood(f"{method} {path}", FailureKind.UNKNOWN_OUTCOME, response.json)

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            client.close()

    def _conditional(self, path: str, read: Callable[[Any], T], params: Mapping[str, Any]) -> tuple[T, bool]:
        address = f"{path}?{sorted(params.items())}"
        known = self._known.get(address)
        headers = {"If-None-Match": known[0]} if known else {}
        response = self._send("GET", path, CORE, params=params, headers=headers)
        if known and response.status_code == HTTPStatus.NOT_MODIFIED:
            return known[1], known[2]
        found = _understood(f"GET {path}", FailureKind.TRANSIENT, lambda: read(response.json()))
        more = "next" in response.links
        if etag := response.headers.get("etag"):
            self._known.put(address, (etag, found, more))
        else:
            self._known.drop(address)
        return found, more

    def _send(
        self,
        method: str,
        path: str,
        kind: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> "httpx.Response":
        """Send once, and a second time only after a 401, which says that nothing was done."""
        for last in (False, True):
            self.brake.check(kind)
            client = self._current()
            try:
                answer = client.send(method, path, params or {}, {**_VERSION, **(headers or {})}, body)
            except Exception as error:  # noqa: BLE001 - httpx, jwt and githubkit raise all kinds; a port only one
                fault = self._fault(error, f"{method} {path}", write=method != "GET")
                if last or fault.status != HTTPStatus.UNAUTHORIZED:
                    raise CallError(fault.failure, fault.status) from None
                client.sign_out()
            else:
                self.brake.passed()
                return answer
        raise AssertionError("the second attempt returns or raises")

    def _fault(self, error: Exception, call: str, *, write: bool) -> "Fault":
        from shadow_autoscaler.adapters.github_faults import fault_of  # noqa: PLC0415 - loads githubkit

        fault = fault_of(error, call, write=write)
        if fault.failure.kind is not FailureKind.THROTTLED:
            return fault
        return fault.after(self.brake.refused(fault.resource, fault.failure.retry_after_s))

    def _current(self) -> "Client":
        secret = self.credential.current()
        with self._lock:
            if not self._clients or secret != self._secret:
                # Former ones stay open: another thread may be in the middle of a call.
                self._clients.append(self.connection.client(self.credential.auth(secret)))
                self._secret = secret
            return self._clients[-1]


def _understood(call: str, kind: FailureKind, read: Callable[[], T]) -> T:
    try:
        return read()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # Such as the page of a proxy in between.
        fault = sentence(error) if isinstance(error, ValidationError) else repr(error)
        text = clip(f"{call}: the answer is not what GitHub documents: {fault}")
        raise CallError(Failure(kind, text), 0) from None
