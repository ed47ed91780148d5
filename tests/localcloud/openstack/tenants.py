"""Tenant projects with real quotas and an application credential, for the stack and for tests."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from localcloud.openstack import clouds, purge
from localcloud.world import World

if TYPE_CHECKING:
    from openstack.connection import Connection

COMPUTE_QUOTAS = {
    "instances": 20,
    "cores": 80,
    "ram": 320 * 1024,
    "key_pairs": 20,
    "server_groups": 20,
    "server_group_members": 20,
}
NETWORK_QUOTAS = {
    "network": 10,
    "subnet": 20,
    "port": 100,
    "router": 5,
    "floatingip": 10,
    "security_group": 20,
    "security_group_rule": 200,
}
VOLUME_QUOTAS = {"volumes": 40, "gigabytes": 4000, "snapshots": 10}
DEFAULT_QUOTAS: Mapping[str, int] = {**COMPUTE_QUOTAS, **NETWORK_QUOTAS, **VOLUME_QUOTAS}
"""Quotas of a tenant; `ram` in MiB, `gigabytes` in GiB, -1 for no limit."""

Rules = Sequence[Mapping[str, str]]
"""Calls as Keystone's access rules have them: `service`, `method`, `path`."""
_DOMAIN = "default"
_REVOKED_SECONDS = 10
_POLICY_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Tenant:
    """A project with one user of role `member`, who logs in by application credential."""

    cloud: str
    """Name of the entry in clouds.yaml."""
    project_id: str
    user_id: str
    restricted: tuple[str, ...] = ()
    """Further entries, of credentials that may make some calls only."""

    def connect(self) -> "Connection":
        """Log in as the tenant."""
        return clouds.connect(self.cloud)

    def environment(self) -> dict[str, str]:
        """Variables that make this tenant the current cloud of any client."""
        return World.load().environment(self.cloud)

    def leftovers(self) -> list[str]:
        """Everything that the tenant still has, `kind name (id)` each; empty for a clean tenant."""
        with self.connect() as connection:
            return [str(item) for item in purge.belongings(connection)]

    def delete(self) -> None:
        """Delete everything in the project, then project, user and credential."""
        with clouds.connect() as admin, self.connect() as connection:
            purge.empty(connection, admin)
            purge.security_groups(admin, self.project_id)
            clouds.identity(admin).delete_user(self.user_id)
            clouds.identity(admin).delete_project(self.project_id)
        for entry in (self.cloud, *self.restricted):
            clouds.put(entry, None)


def unused_name(prefix: str) -> str:
    """Return a name for a tenant that nobody else has: several runs of the tests may share the cloud."""
    return f"{prefix}-{secrets.token_hex(3)}"


def make(
    name: str,
    quotas: Mapping[str, int] | None = None,
    cloud: str = "",
    access_rules: Rules | None = None,
    restricted: Mapping[str, Rules] | None = None,
) -> Tenant:
    """Make a tenant, or give an existing one of that name a new credential.

    Args:
        name: Project and user name.
        quotas: Limits that differ from `DEFAULT_QUOTAS`.
        cloud: Entry in clouds.yaml; the name where left out.
        access_rules: The only calls (`service`, `method`, `path`) that the credential may make; None for all.
        restricted: Further credentials, by their entry in clouds.yaml, and the only calls that each may make.
    """
    limits = {**DEFAULT_QUOTAS, **(quotas or {})}
    if unknown := limits.keys() - DEFAULT_QUOTAS.keys():
        raise ValueError(f"unknown quotas {sorted(unknown)}; expected some of {sorted(DEFAULT_QUOTAS)}")
    with clouds.connect() as admin:
        tenant, password = _account(admin, name, cloud or name)
        tenant = replace(tenant, restricted=tuple(restricted or ()))
        _limit(admin, tenant.project_id, limits)
    _credentials(tenant, name, password, {tenant.cloud: access_rules, **(restricted or {})})
    return tenant


def find(cloud: str) -> Tenant:
    """Return the tenant of an entry in clouds.yaml."""
    with clouds.connect(cloud) as connection:
        return Tenant(cloud, connection.current_project_id or "", connection.current_user_id or "")


def _account(admin: "Connection", name: str, cloud: str) -> tuple[Tenant, str]:
    identity = clouds.identity(admin)
    password = secrets.token_urlsafe(18)
    project = identity.find_project(name) or identity.create_project(name=name, domain_id=_DOMAIN)
    if user := identity.find_user(name):
        identity.update_user(user, password=password)
    else:
        user = identity.create_user(name=name, password=password, domain_id=_DOMAIN)
    identity.assign_project_role_to_user(project, user, identity.find_role("member", ignore_missing=False))
    return Tenant(cloud, project.id, user.id), password


def _limit(admin: "Connection", project_id: str, limits: Mapping[str, int]) -> None:
    def some(names: Mapping[str, int]) -> dict[str, Any]:
        return {name: limits[name] for name in names}

    # Without force a quota below what is in use would be refused.
    admin.compute.put(
        f"/os-quota-sets/{project_id}", json={"quota_set": {**some(COMPUTE_QUOTAS), "force": True}}
    ).raise_for_status()
    admin.block_storage.put(
        f"/os-quota-sets/{project_id}", json={"quota_set": some(VOLUME_QUOTAS)}
    ).raise_for_status()
    _limit_network(admin, project_id, some(NETWORK_QUOTAS))


def _limit_network(admin: "Connection", project_id: str, limits: Mapping[str, int]) -> None:
    """Set quotas of Neutron, which refuses even an admin (403) while a fresh worker reads its policy."""

    def put() -> Any:
        return admin.network.put(f"/quotas/{project_id}", json={"quota": limits})

    end = time.monotonic() + _POLICY_SECONDS
    while (answer := put()).status_code == HTTPStatus.FORBIDDEN and time.monotonic() < end:
        time.sleep(0.5)
    answer.raise_for_status()


def _credentials(tenant: Tenant, name: str, password: str, wanted: Mapping[str, Rules | None]) -> None:
    """Make the credentials as the user: nobody can make one for somebody else."""
    draft = f".{tenant.cloud}"
    clouds.put(draft, clouds.password_entry(name, password, name))
    try:
        for entry, made in _signed_in(tenant, draft, wanted).items():
            clouds.put(entry, made)
    finally:
        clouds.put(draft, None)


def _signed_in(tenant: Tenant, draft: str, wanted: Mapping[str, Rules | None]) -> dict[str, dict[str, Any]]:
    """Return the entries of new credentials, which replace all older ones.

    Keystone revokes by whole seconds, so it refuses a token of the second in which the password was changed,
    and under load it may not see a role that was given just before: sign in anew until it does.
    """
    from openstack.exceptions import HttpException  # noqa: PLC0415 - see clouds.connect

    end = time.monotonic() + _REVOKED_SECONDS
    while True:
        try:
            with clouds.connect(draft) as connection:
                return _replaced(connection, tenant, wanted)
        except HttpException as error:
            late = error.status_code == 401 or "Could not find role assignment" in str(error)
            if not late or time.monotonic() > end:
                raise
        time.sleep(0.2)


def _replaced(
    connection: "Connection", tenant: Tenant, wanted: Mapping[str, Rules | None]
) -> dict[str, dict[str, Any]]:
    identity = clouds.identity(connection)
    for old in list(identity.application_credentials(tenant.user_id)):
        identity.delete_application_credential(tenant.user_id, old)
    entries = dict[str, dict[str, Any]]()
    for entry, access_rules in wanted.items():
        secret = secrets.token_urlsafe(24)
        rules = {} if access_rules is None else {"access_rules": list(access_rules)}
        made = identity.create_application_credential(tenant.user_id, entry, secret=secret, **rules)
        entries[entry] = clouds.credential_entry(str(made.id), secret)
    return entries
