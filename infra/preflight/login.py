"""Logs in to OpenStack and turns every way that this can fail into a finding with a remedy."""

from collections.abc import Callable
from typing import Any

import openstack
from keystoneauth1 import exceptions as keystone
from openstack import exceptions as sdk
from openstack.connection import Connection

from preflight.findings import Finding
from settings import Settings

_PLACE = "cloud {cloud!r}, region {region!r} (Keystone)"
_FAILURES: tuple[tuple[type[Exception], str, str], ...] = (
    (
        keystone.Unauthorized,
        "the credential was refused (401)",
        "it is wrong, expired or of another region: put a new application credential into clouds.yaml",
    ),
    (
        keystone.SSLError,
        "TLS failed: {error}",
        "if the certificate is the cloud's own, name its bundle as `cacert:` in clouds.yaml",
    ),
    (
        keystone.MissingRequiredOptions,
        "the entry in clouds.yaml is incomplete: {error}",
        "give auth_url, the application credential (id and secret) and `auth_type: v3applicationcredential`",
    ),
    (
        keystone.EndpointNotFound,
        "the catalogue has no endpoint for it",
        "check the region's name; each region has its own credential",
    ),
    (
        keystone.ConnectFailure,
        "no connection: {error}",
        "check auth_url in clouds.yaml, the network and any proxy",
    ),
    (keystone.NotFound, "auth_url answers 404", "it must end in /v3"),
    (keystone.ClientException, "the login failed: {error}", "check the entry in clouds.yaml"),
)


def login(settings: Settings) -> Connection | Finding:
    """Return a connection whose token and region were tried, or what is wrong."""
    place = _PLACE.format(cloud=settings.cloud, region=settings.region)
    try:
        connection = openstack.connect(cloud=settings.cloud, region_name=settings.region)
    except sdk.ConfigException as error:
        return Finding(place, f"clouds.yaml can't be used: {error}", "see docs/how-to/deploy-on-shadow.md")
    problem = _explained(place, lambda: _try(connection))
    if problem:
        return problem
    return _region_fault(connection, settings, place) or connection


def _try(connection: Connection) -> None:
    connection.config.get_session_client("identity").get_endpoint()
    connection.session.get_token()


def _explained(place: str, attempt: Callable[[], object]) -> Finding | None:
    try:
        attempt()
    except keystone.ClientException as error:
        for kind, problem, remedy in _FAILURES:
            if isinstance(error, kind):
                return Finding(place, problem.format(error=_short(error)), remedy)
    return None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _region_fault(connection: Connection, settings: Settings, place: str) -> Finding | None:
    plugin: Any = connection.session.auth
    catalog = plugin.get_access(connection.session).service_catalog
    regions = {
        endpoint["region_id"] or endpoint["region"]
        for service in catalog.catalog
        for endpoint in service["endpoints"]
    }
    if settings.region in regions:
        return None
    return Finding(
        place,
        f"the catalogue has no region {settings.region!r}, it has {', '.join(sorted(regions))}",
        "set shadow-gpu-runners:region to one of these, or use the credential of that region",
    )
