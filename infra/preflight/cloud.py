"""Asks OpenStack, as the tenant, for all that the settings name: flavors, image, network, volumes, zones."""

from collections.abc import Callable, Iterable
from functools import partial

from openstack import exceptions as sdk
from openstack.connection import Connection

from preflight import machines, quotas
from preflight.findings import Finding
from preflight.login import login
from settings import Settings
from shadow_gpu_runners.catalog import near_matches

Check = Callable[[Connection, Settings], Iterable[Finding]]


def check(settings: Settings, deployment: str) -> list[Finding]:
    """Return everything about the cloud that keeps `deployment` from being built as configured."""
    connection = login(settings)
    if isinstance(connection, Finding):
        return [connection]
    findings: list[Finding] = []
    for service, inspect in _CHECKS.items():
        findings += _guarded(service, partial(inspect, connection, settings))
    if not findings:
        findings += _guarded("quotas", partial(quotas.check, connection, settings, deployment))
    return findings


def check_controller(settings: Settings) -> list[Finding]:
    """Return what is wrong with a credential of the controller's own."""
    own = settings.autoscaler.cloud if settings.autoscaler else ""
    if not own or own == settings.cloud:
        return []
    found = login(settings.model_copy(update={"cloud": own}))
    return [found] if isinstance(found, Finding) else []


def _guarded(service: str, inspect: Callable[[], Iterable[Finding]]) -> list[Finding]:
    try:
        return list(inspect())
    except sdk.ForbiddenException as error:
        return [
            Finding(
                service, f"the credential may not read this (403): {error}", "give its user the role member"
            )
        ]
    except sdk.SDKException as error:
        return [
            Finding(
                service, f"the API call failed: {error}", "try again; if it stays, ask the cloud's operator"
            )
        ]


def _flavors(connection: Connection, settings: Settings) -> Iterable[Finding]:
    available = sorted(flavor.name for flavor in connection.compute.flavors())
    for machine in machines.wanted(settings):
        for name in machine.flavors:
            if name not in available:
                near = near_matches(name, available)
                hint = f"near matches: {', '.join(near)}" if near else f"it has {', '.join(available)}"
                yield Finding(
                    f"{machine.place}.{machine.flavor_key} (Nova)",
                    f"the cloud has no flavor {name!r} for market {machine.market!r}",
                    f"take one of the cloud's own ({hint})",
                )


def _images(connection: Connection, settings: Settings) -> Iterable[Finding]:
    own = {f"{each.place}.image": each.image for each in machines.wanted(settings) if each.image}
    for place, name in {"image.name": settings.image.name, **own}.items():
        if next(iter(connection.image.images(name=name, status="active")), None) is None:
            names = sorted(image.name for image in connection.image.images(status="active"))
            yield Finding(
                f"{place} (Glance)",
                f"no active image is named {name!r}",
                f"take one that the tenant sees: {', '.join(names[:20]) or 'there is none, upload one'}",
            )


def _network(connection: Connection, settings: Settings) -> Iterable[Finding]:
    wanted = settings.network
    if wanted.network_id:
        if connection.network.find_network(wanted.network_id) is None:
            yield Finding("network.networkId (Neutron)", f"no network {wanted.network_id!r}", "check the ID")
        return
    external = sorted(network.name for network in connection.network.networks(is_router_external=True))
    if wanted.external_network not in external:
        yield Finding(
            "network.externalNetwork (Neutron)",
            f"no external network {wanted.external_network!r}",
            f"take one of {', '.join(external) or 'none: ask the operator'}",
        )


def _volume_types(connection: Connection, settings: Settings) -> Iterable[Finding]:
    types = sorted(kind.name for kind in connection.block_storage.types())
    for machine in machines.wanted(settings):
        if machine.volume_type and machine.volume_type not in types:
            yield Finding(
                f"{machine.place}.volume.type (Cinder)",
                f"no volume type {machine.volume_type!r}",
                f"take one of {', '.join(types)}",
            )


def _zones(connection: Connection, settings: Settings) -> Iterable[Finding]:
    zones = sorted(zone.name for zone in connection.compute.availability_zones())
    for machine in machines.wanted(settings):
        for zone in sorted(set(machine.zones) - set(zones)):
            yield Finding(
                f"{machine.place}.zones (Nova)",
                f"no availability zone {zone!r}",
                f"take one of {', '.join(zones)}",
            )


_CHECKS: dict[str, Check] = {
    "flavors (Nova)": _flavors,
    "images (Glance)": _images,
    "networks (Neutron)": _network,
    "volume types (Cinder)": _volume_types,
    "zones (Nova)": _zones,
}
