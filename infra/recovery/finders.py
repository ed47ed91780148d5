"""Looks a resource up in OpenStack by its ownership mark or by its parent, never by its name alone."""

from collections.abc import Callable, Mapping
from typing import Any

from openstack.connection import Connection

from shadow_gpu_runners import ownership

Inputs = Mapping[str, Any]
Finder = Callable[[Connection, Inputs, str], str | None]


def find(connection: Connection, kind: str, inputs: Inputs, deployment: str) -> str | None:
    """Return the ID of the resource of type `kind` that `deployment` made from `inputs`, or None."""
    finder = _FINDERS.get(kind)
    return finder(connection, inputs, deployment) if finder else None


def _server(connection: Connection, inputs: Inputs, deployment: str) -> str | None:
    servers = connection.compute.servers(name=f"^{inputs['name']}$")
    return _first(s.id for s in servers if ownership.is_marked(s.metadata, deployment))


def _tagged(listing: str) -> Finder:
    def find_tagged(connection: Connection, inputs: Inputs, deployment: str) -> str | None:
        query = {"tags": ownership.deployment_tag(deployment)}
        if "name" in inputs:
            query["name"] = inputs["name"]
        entries = getattr(connection.network, listing)(**query)
        wanted = inputs.get("portId")
        return _first(entry.id for entry in entries if wanted is None or entry.port_id == wanted)

    return find_tagged


def _rule(connection: Connection, inputs: Inputs, _deployment: str) -> str | None:
    query = {
        "security_group_id": inputs["securityGroupId"],
        "direction": inputs["direction"],
        "protocol": inputs.get("protocol"),
        "port_range_min": inputs.get("portRangeMin"),
        "port_range_max": inputs.get("portRangeMax"),
    }
    rules = connection.network.security_group_rules(**{key: value for key, value in query.items() if value})
    return _first(rule.id for rule in rules if rule.remote_ip_prefix == inputs.get("remoteIpPrefix"))


def _interface(connection: Connection, inputs: Inputs, _deployment: str) -> str | None:
    ports = connection.network.ports(device_id=inputs["routerId"])
    subnet = inputs.get("subnetId")
    return _first(port.id for port in ports if subnet in {ip["subnet_id"] for ip in port.fixed_ips})


def _first(ids: Any) -> str | None:
    return next(iter(ids), None)


_FINDERS: dict[str, Finder] = {
    "openstack:compute/instance:Instance": _server,
    "openstack:networking/network:Network": _tagged("networks"),
    "openstack:networking/subnet:Subnet": _tagged("subnets"),
    "openstack:networking/router:Router": _tagged("routers"),
    "openstack:networking/port:Port": _tagged("ports"),
    "openstack:networking/secGroup:SecGroup": _tagged("security_groups"),
    "openstack:networking/floatingIp:FloatingIp": _tagged("ips"),
    "openstack:networking/secGroupRule:SecGroupRule": _rule,
    "openstack:networking/routerInterface:RouterInterface": _interface,
}
