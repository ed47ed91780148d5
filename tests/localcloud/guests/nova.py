"""`Servers` over a real Nova through openstacksdk, as an administrator of all tenants."""

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from keystoneauth1.exceptions import ClientException
from openstack.connection import Connection
from openstack.exceptions import NotFoundException, SDKException

from localcloud.guests.servers import Address, PowerAction, Server, ServersError
from localcloud.openstack import clouds

_MICROVERSION = "2.79"
_STARTING = frozenset({"reboot", "start", "rebuild"})
_PAGE = 500
_TIMEOUT_S = 15
_OVERLAP = timedelta(seconds=5)


def connect() -> "NovaServers":
    """Servers of the local cloud, asked as its administrator."""
    connection = clouds.connect()
    connection.session.timeout = _TIMEOUT_S
    return NovaServers(connection)


class NovaServers:
    """Asks `GET /servers/detail?all_tenants=1`; an administrator gets the user-data with it.

    Between full lists it asks only for what has changed, deletions included: many servers cost Nova and
    Neutron much more than an empty answer.
    """

    def __init__(self, connection: Connection, full_every_s: float = 20) -> None:
        self._connection = connection
        self._full_every_s = full_every_s
        self._known = dict[str, Server]()
        self._full_at: float | None = None
        self._asked_at = datetime.now(UTC)

    def list(self) -> tuple[Server, ...]:
        """See `Servers.list`."""
        asked_at, now = datetime.now(UTC), time.monotonic()
        if self._full_at is None or now - self._full_at >= self._full_every_s:
            self._known = {record["id"]: _server(record) for record in self._pages("")}
            self._full_at = now
        else:
            since = (self._asked_at - _OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._take_changes(list(self._pages(f"&changes-since={since}")))
        self._asked_at = asked_at
        return tuple(self._known.values())

    def _take_changes(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            if record["status"] == "DELETED":
                self._known.pop(record["id"], None)
            else:
                self._known[record["id"]] = _server(record)

    def _pages(self, query: str) -> Iterator[Mapping[str, Any]]:
        path, marker = f"/servers/detail?all_tenants=1&limit={_PAGE}{query}", ""
        while True:
            page: list[Mapping[str, Any]] = self._get(f"{path}{marker}")["servers"]
            yield from page
            if len(page) < _PAGE:
                return
            marker = f"&marker={page[-1]['id']}"

    def power_actions(self, server_id: str) -> tuple[PowerAction, ...]:
        """See `Servers.power_actions`."""
        try:
            body = self._get(f"/servers/{server_id}/os-instance-actions")
        except NotFoundException:
            return ()
        return tuple(
            PowerAction(item["request_id"], item["action"])
            for item in body["instanceActions"]
            if item["action"] in _STARTING
        )

    def stop(self, server_id: str) -> None:
        """See `Servers.stop`."""
        path = f"/servers/{server_id}/action"
        try:
            answer = self._connection.compute.post(path, json={"os-stop": None}, microversion=_MICROVERSION)
        except (SDKException, ClientException) as error:
            raise ServersError(f"POST {path}: {error}") from error
        if answer.status_code not in {202, 404, 409}:
            raise ServersError(f"POST {path}: {answer.status_code} {answer.text}")

    def _get(self, path: str) -> dict[str, Any]:
        try:
            answer = self._connection.compute.get(path, microversion=_MICROVERSION)
            body: dict[str, Any] = answer.json()
        except (SDKException, ClientException, ValueError) as error:
            raise ServersError(f"GET {path}: {error}") from error
        if answer.status_code == 404:
            raise NotFoundException(path)
        if answer.status_code != 200:
            raise ServersError(f"GET {path}: {answer.status_code} {answer.text[:200]}")
        return body


def _server(record: Mapping[str, Any]) -> Server:
    return Server(
        id=record["id"],
        name=record["name"],
        status=record["status"],
        flavor=record["flavor"]["original_name"],
        project_id=record["tenant_id"],
        updated=record["updated"],
        zone=record.get("OS-EXT-AZ:availability_zone") or "",
        key_name=record.get("key_name") or "",
        metadata=record["metadata"],
        addresses=_addresses(record["addresses"]),
        volumes=tuple(
            volume["id"]
            for volume in record.get("os-extended-volumes:volumes_attached", ())
            if not volume["delete_on_termination"]
        ),
        user_data=record.get("OS-EXT-SRV-ATTR:user_data") or "",
    )


def _addresses(networks: Mapping[str, list[Mapping[str, Any]]]) -> tuple[Address, ...]:
    return tuple(
        Address(
            item["addr"],
            network,
            item.get("OS-EXT-IPS-MAC:mac_addr", ""),
            item.get("OS-EXT-IPS:type", "fixed"),
        )
        for network, items in networks.items()
        for item in items
    )
