"""The public API as a program uses it. mypy and pyright must accept every line; nothing here is run."""

from decimal import Decimal
from typing import assert_type

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import (
    GitHubRunnerGroup,
    GitLabRunner,
    GpuFlavors,
    InstanceGroup,
    InstanceGroupArgs,
    RunnerImage,
    RunnerNetwork,
    RunnerNetworkArgs,
    SshKey,
)
from shadow_gpu_runners.catalog import OFFERS, FlavorName, Offer, near_matches
from shadow_gpu_runners.cost import Estimate, estimate_preview
from shadow_gpu_runners.fallback import Proposal, failures, propose, read_event_log
from shadow_gpu_runners.preview import Plan, read
from shadow_gpu_runners.prices import Price, PriceBook, default_book
from shadow_gpu_runners.quota import Finding, Limit, added, check
from shadow_gpu_runners.spot import Prefix, SpotNames
from shadow_gpu_runners.testing import Recording, record

on_cloud = pulumi.ResourceOptions(provider=openstack.Provider("cloud", cloud="shadow"))

network_args: RunnerNetworkArgs = {
    "cidr": "10.20.0.0/24",
    "external_network": "ext-net",
    "egress": [{"port": 443}, {"protocol": "udp", "port": 53, "cidr": "9.9.9.9/32"}],
    "ssh_from": ["198.51.100.0/24"],
}
network = RunnerNetwork("ci", network_args, on_cloud)
image = RunnerImage("image", {"image_name": "ubuntu-22.04-cuda"}, on_cloud)
key = SshKey("ops", {"public_key": pulumi.Output.from_input("ssh-ed25519 AAAA")}, on_cloud)
flavors = GpuFlavors("flavors", {"wanted": [OFFERS[0].flavor]}, on_cloud)
runner = GitLabRunner("runner", {"project_id": 1}, on_cloud)
runner_group = GitHubRunnerGroup("group", {"repositories": ["acme/model"]}, on_cloud)

args: InstanceGroupArgs = {
    "count": 2,
    "flavor": OFFERS[0].flavor,
    "market": "spot-then-on-demand",
    "on_demand_fallback": ["ci-02"],
    "image_id": image.image_id,
    "network_id": network.network_id,
    "subnet_id": network.subnet_id,
    "security_group_ids": [network.security_group_id],
    "key_name": key.key_name,
    "user_data": runner.user_data,
    "flavor_ids": flavors.flavor_ids,
    "boot_volume": {"size_gib": 50, "volume_type": "Silver"},
}
group = InstanceGroup("ci", args, on_cloud)

assert_type(network.network_id, pulumi.Output[str])
assert_type(group.addresses, pulumi.Output[dict[str, str]])
assert_type(group.names, pulumi.Output[list[str]])
assert_type(key.private_key, pulumi.Output[str])
assert_type(image.min_disk_gib, pulumi.Output[int])

assert_type(FlavorName.parse("edge-c4m16-gpu-2000-1").vcpus, int)
assert_type(OFFERS, tuple[Offer, ...])
assert_type(near_matches("edge"), list[str])

book = PriceBook.load("prices.yaml").with_flavors(default_book().flavors)
assert_type(book.flavor("edge-c4m16-gpu-2000-1"), Price | None)
assert_type(book, PriceBook)
names = SpotNames(Prefix("spot."), {"big": "cheap-big"})
assert_type(names.is_spot("spot.big"), bool)

estimate = estimate_preview("{}", book)
assert_type(estimate, Estimate)
assert_type(estimate.change, Decimal)
assert_type(estimate.after.actual, Decimal | None)

plan = read({"steps": []})
assert_type(plan, Plan)
assert_type(check(added(plan), {"instances": Limit(10, 9)}), list[Finding])
assert_type(propose(failures(read_event_log(""), {"id": "No valid host"})), Proposal)

recording = record(lambda: None, preview=True)
assert_type(recording, Recording)
assert_type(recording.named("ci-01").protect, bool)
