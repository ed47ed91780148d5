"""One signed-in session: time-outs, pages, a negotiated microversion; every failure is a `PortError`."""

import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shadow_autoscaler.adapters import openstack_transport as transport
from shadow_autoscaler.adapters.openstack_errors import of_answer
from shadow_autoscaler.adapters.openstack_settings import OpenStackSettings
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

if TYPE_CHECKING:
    import requests
    from openstack.connection import Connection
    from openstack.proxy import Proxy

Service = Literal["compute", "network", "block-storage", "image"]
Json = Mapping[str, Any]

LOWEST = (2, 79)
"""Boot volumes with a type, lock reasons and marked servers of a cell that is down need no more."""
HIGHEST = (2, 90)
"""2.92 changes keypairs, 2.96 lists servers wrongly."""
_ATTACHMENTS = "3.27"
_RESTARTS = 3
_VERSION = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an API."""

    service: Service
    method: str
    path: str
    """Below the service's endpoint."""
    json: Json | None = None
    params: Mapping[str, str | int] | None = None
    once: bool = False
    """Makes a server: never sent twice, not even after a lost connection, and never logged."""

    def __str__(self) -> str:
        return f"{self.service} {self.method} {self.path}"


class Session:
    """Signs in at the first call; may be used by several threads."""

    def __init__(self, settings: OpenStackSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._microversion = ""

    def call(self, call: Call) -> dict[str, Any]:
        """Send a call; return its answer's JSON object, empty where it has none.

        Raises:
            PortError: no answer, or an error answer.
        """
        response = self._send(call)
        if response.status_code >= 400:
            raise PortError(of_answer(transport.answer(str(call), response, once=call.once)))
        return transport.json_object(str(call), response, once=call.once)

    def find(self, call: Call) -> dict[str, Any] | None:
        """Send a call; return its answer's JSON object, None where the service says 404."""
        response = self._send(call)
        if response.status_code == 404:
            return None
        if response.status_code >= 400:
            raise PortError(of_answer(transport.answer(str(call), response)))
        return transport.json_object(str(call), response)

    def readable(self, call: Call) -> dict[str, Any] | None:
        """Send a call; None where the credential may not make it or the cloud does not offer it."""
        try:
            return self.find(call)
        except PortError as error:
            if error.failure.kind in {FailureKind.AUTH, FailureKind.CONFIG}:
                return None
            raise

    def list(self, service: Service, path: str, key: str, **params: str) -> list[dict[str, Any]]:
        """Return all items of a list, over all pages, each item once.

        A page begins after the last item of the one before; where that item has gone meanwhile, the list is
        read from the start again.
        """
        for _ in range(_RESTARTS):
            try:
                return list({item["id"]: item for item in self._pages(service, path, key, params)}.values())
            except PortError as error:
                if "marker" not in error.failure.text.lower():
                    raise
        text = f"{service} GET {path}: the list changed too fast to be read in pages; nothing was concluded"
        raise PortError(Failure(FailureKind.TRANSIENT, text))

    def project_id(self) -> str:
        """Return the project that the credential belongs to."""
        connection = self._connect()
        return str(transport.guarded(connection.session.get_project_id, "identity"))

    def microversion(self) -> str:
        """Return the compute microversion that is spoken."""
        connection = self._connect()
        if not self._microversion:
            data = transport.guarded(connection.compute.get_endpoint_data, "compute version discovery")
            highest = data.max_microversion if data else None
            offered = tuple(int(part) for part in highest) if highest else ()
            self._microversion = negotiated(self._settings.microversion, offered)
        return self._microversion

    def _pages(
        self, service: Service, path: str, key: str, params: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        query: dict[str, str | int] = dict(params)
        if self._settings.page_size:
            query["limit"] = self._settings.page_size
        while True:
            page = self.call(Call(service, "GET", path, params=query))
            yield from page[key]
            links: list[Json] = page.get(f"{key}_links") or []
            if not page[key] or not any(link.get("rel") == "next" for link in links):
                return
            query["marker"] = page[key][-1]["id"]

    def _send(self, call: Call) -> "requests.Response":
        proxy = self._proxy(call.service)
        version = self._version(call)
        # A token is fetched before the call, so that trouble with Keystone is never an unknown outcome.
        transport.guarded(proxy.get_token, "identity POST /auth/tokens")
        return transport.guarded(
            lambda: proxy.request(
                call.path,
                call.method,
                json=call.json,
                params=dict(call.params or {}),
                microversion=version or None,
                timeout=(self._settings.connect_timeout_s, self._settings.timeout_s),
                connect_retries=0 if call.method == "POST" else 1,
                status_code_retries=0,
                log=not call.once,
            ),
            str(call),
            once=call.once,
        )

    def _version(self, call: Call) -> str:
        if call.service == "compute":
            return self.microversion()
        return _ATTACHMENTS if call.path.startswith("/attachments") else ""

    def _proxy(self, service: Service) -> "Proxy":
        connection = self._connect()
        name = service.replace("-", "_")
        proxy: Proxy = transport.guarded(lambda: getattr(connection, name), f"{service} endpoint")
        return proxy

    def _connect(self) -> "Connection":
        with self._lock:
            if self._connection is None:
                self._connection = transport.connect(self._settings)
            return self._connection


def negotiated(wanted: str, offered: tuple[int, ...]) -> str:
    """Return the microversion to speak: the wanted one, or the cloud's highest where that is lower.

    Raises:
        PortError: one of both is out of bounds (CONFIG).
    """
    asked = tuple(int(part) for part in wanted.split(".")) if _VERSION.fullmatch(wanted) else ()
    if not LOWEST <= asked <= HIGHEST:
        raise PortError(_unfit(f"openstack.microversion is {wanted!r}; expected 2.79 to 2.90"))
    if offered < LOWEST:
        most = ".".join(map(str, offered)) or "none"
        raise PortError(
            _unfit(f"compute: microversion {most} is the cloud's highest; expected at least 2.79")
        )
    return ".".join(map(str, min(asked, offered)))


def _unfit(text: str) -> Failure:
    return Failure(FailureKind.CONFIG, text)
