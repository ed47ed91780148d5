"""`Servers` over a real Nova through openstacksdk, as an administrator of all tenants."""

from collections.abc import Mapping
from typing import Any

import openstack
from keystoneauth1.exceptions import ClientException
from openstack.connection import Connection
from openstack.exceptions import NotFoundException, SDKException

from localcloud.guests.servers import Address, PowerAction, Server, ServersError
from localcloud.paths import state_home
from localcloud.world import ADMIN_CLOUD

_MICROVERSION = "2.79"
_STARTING = frozenset({"reboot", "start", "rebuild"})
_PAGE = 500


def connect(cloud: str = ADMIN_CLOUD) -> "NovaServers":
    """Servers of the local cloud, by its own `clouds.yaml`."""
    return NovaServers(
        openstack.connect(cloud=cloud, load_envvars=False, config_files=[str(state_home() / "clouds.yaml")])
    )


class NovaServers:
    """Asks `GET /servers/detail?all_tenants=1`; an administrator gets the user-data with it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> tuple[Server, ...]:
        """See `Servers.list`."""
        query, found = f"?all_tenants=1&limit={_PAGE}", list[Mapping[str, Any]]()
        while True:
            page: list[Mapping[str, Any]] = self._get(f"/servers/detail{query}")["servers"]
            found += page
            if len(page) < _PAGE:
                return tuple(_server(record) for record in found)
            query = f"?all_tenants=1&limit={_PAGE}&marker={page[-1]['id']}"

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
