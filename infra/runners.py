"""Everything on OpenStack: provider, flavors, image, network and the instance groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pulumi
import pulumi_openstack as openstack

from settings import Pool, Settings
from shadow_gpu_runners import (
    GpuFlavors,
    InstanceGroup,
    InstanceGroupArgs,
    RunnerImage,
    RunnerNetwork,
    RunnerNetworkArgs,
    SshKey,
)


@dataclass(frozen=True, slots=True)
class Base:
    """What machines of any kind stand on."""

    opts: pulumi.ResourceOptions
    image: RunnerImage
    network: RunnerNetwork
    key: SshKey | None


def base(settings: Settings) -> Base:
    """Declare provider, image, network and key pair."""
    provider = openstack.Provider("openstack", cloud=settings.cloud, region=settings.region)
    opts = pulumi.ResourceOptions(provider=provider)
    image = RunnerImage("image", {"image_name": settings.image.name}, opts)
    network = RunnerNetwork("network", _network_args(settings), opts)
    key = (
        SshKey("ssh-key", {"public_key": settings.ssh_public_key}, opts) if settings.ssh_public_key else None
    )
    return Base(opts, image, network, key)


def instance_groups(
    settings: Settings, stand: Base, user_data: pulumi.Output[str] | None
) -> dict[str, InstanceGroup]:
    """Declare the pools of long-lived instances; return the groups by pool name."""
    opts, image, network, key = stand.opts, stand.image, stand.network, stand.key
    if not settings.pools:
        return {}
    flavors = GpuFlavors("flavors", {"wanted": sorted({pool.flavor for pool in settings.pools})}, opts)
    groups: dict[str, InstanceGroup] = {}
    for pool in settings.pools:
        args = _group_args(settings, pool, image, network, flavors)
        if user_data is not None:
            args["user_data"] = user_data
        if key is not None:
            args["key_name"] = key.key_name
        groups[pool.name] = InstanceGroup(pool.name, args, opts)
    return groups


def _network_args(settings: Settings) -> RunnerNetworkArgs:
    wanted = settings.network
    # The controller is one more machine beside those of the jobs.
    jobs = sum(pool.max for pool in settings.autoscaler.pools) + 1 if settings.autoscaler else 0
    args: RunnerNetworkArgs = {"instances": sum(pool.count for pool in settings.pools) + jobs}
    if wanted.network_id:
        args["network_id"] = wanted.network_id
        if wanted.subnet_id:
            args["subnet_id"] = wanted.subnet_id
    else:
        args |= {"external_network": wanted.external_network, "cidr": wanted.cidr}
    if wanted.dns_servers:
        args["dns_servers"] = wanted.dns_servers
    if wanted.ssh_from:
        args["ssh_from"] = [wanted.ssh_from]
    return args


def _group_args(
    settings: Settings, pool: Pool, image: RunnerImage, network: RunnerNetwork, flavors: GpuFlavors
) -> InstanceGroupArgs:
    args: InstanceGroupArgs = {
        "count": pool.count,
        "flavor": pool.flavor,
        "market": pool.market,
        "flavor_ids": flavors.flavor_ids.apply(_inputs),
        "image_id": image.image_id,
        "network_id": network.network_id,
        "subnet_id": network.subnet_id,
        "security_group_ids": [network.security_group_id],
        "boot_volume": {"size_gib": pool.volume.size, "volume_type": pool.volume.type},
    }
    if pool.on_demand_fallback:
        args["on_demand_fallback"] = pool.on_demand_fallback
    if pool.zones:
        args["zones"] = pool.zones
    if pool.floating_ip:
        args["floating_ip_pool"] = settings.network.external_network
    return args


def _inputs(ids: dict[str, str]) -> dict[str, pulumi.Input[str]]:
    return {**ids}


def instances(settings: Settings, groups: Mapping[str, InstanceGroup]) -> pulumi.Output[list[dict[str, str]]]:
    """Return one record per instance: name, pool, flavor and address."""
    rows = [
        pulumi.Output.all(pool.name, group.flavors, group.addresses, group.floating_addresses).apply(_rows)
        for pool, group in ((pool, groups[pool.name]) for pool in settings.pools)
    ]
    return pulumi.Output.all(*rows).apply(lambda pools: [row for pool in pools for row in pool])


def _rows(known: list[Any]) -> list[dict[str, str]]:
    pool, flavors, addresses, floating = known
    return [
        {"name": name, "pool": pool, "flavor": flavor, "address": floating.get(name) or addresses[name]}
        for name, flavor in flavors.items()
    ]


def monthly_cost(groups: Mapping[str, InstanceGroup]) -> pulumi.Output[dict[str, str]]:
    """Return EUR per month of all groups as bought, all spot and all on-demand, with the prices' source."""
    figures = [
        pulumi.Output.all(group.hourly_price, group.monthly_spot, group.monthly_on_demand, group.price_note)
        for group in groups.values()
    ]
    return pulumi.Output.all(*figures).apply(_total)


def _total(figures: list[list[str]]) -> dict[str, str]:
    hourly, spot, on_demand = ([row[column] for row in figures] for column in range(3))
    return {
        "EUR per hour": _sum(hourly),
        "EUR per month, all spot": _sum(spot),
        "EUR per month, all on-demand": _sum(on_demand),
        "prices": "; ".join(sorted({row[3] for row in figures})),
    }


def _sum(amounts: list[str]) -> str:
    return "unknown" if "unknown" in amounts else str(sum(map(Decimal, amounts), Decimal(0)))
