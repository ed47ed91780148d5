"""Keystone's users, roles, services and endpoints, made before any other service starts."""

from typing import TYPE_CHECKING

from localcloud.openstack import clouds
from localcloud.openstack.layout import url
from localcloud.world import REGION, World

if TYPE_CHECKING:
    from openstack.connection import Connection

_DOMAIN = "default"
_ENDPOINTS = (
    ("image", "glance", url("glance")),
    ("placement", "placement", url("placement")),
    ("compute", "nova", f"{url('nova-api')}/v2.1"),
    ("network", "neutron", url("neutron")),
    ("block-storage", "cinder", f"{url('cinder-api')}/v3/%(project_id)s"),
    ("volumev3", "cinderv3", f"{url('cinder-api')}/v3/%(project_id)s"),
)


def create(admin: "Connection", world: World) -> None:
    """Make what is missing; safe to run again after it was interrupted."""
    _accounts(admin, world)
    _services(admin)


def _accounts(admin: "Connection", world: World) -> None:
    identity = clouds.identity(admin)
    roles = {role.name: role for role in identity.roles()}
    for name in {"service", "member", "reader"} - roles.keys():
        roles[name] = identity.create_role(name=name)
    project = identity.find_project("service") or identity.create_project(name="service", domain_id=_DOMAIN)
    users = {user.name: user for user in identity.users()}
    for name in ("glance", "placement", "nova", "neutron", "cinder"):
        user = users.get(name) or identity.create_user(
            name=name, password=world.admin_password, domain_id=_DOMAIN
        )
        for role in ("admin", "service"):
            identity.assign_project_role_to_user(project, user, roles[role])


def _services(admin: "Connection") -> None:
    identity = clouds.identity(admin)
    services = {service.type: service for service in identity.services()}
    known = {(endpoint.service_id, endpoint.interface) for endpoint in identity.endpoints()}
    for kind, name, address in _ENDPOINTS:
        service = services.get(kind) or identity.create_service(type=kind, name=name)
        for interface in ("public", "internal", "admin"):
            if (service.id, interface) not in known:
                identity.create_endpoint(
                    service_id=service.id, interface=interface, url=address, region_id=REGION
                )
