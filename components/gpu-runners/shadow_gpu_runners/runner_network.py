"""Tenant network that runners boot into: nothing comes in, and only what is listed goes out."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import _egress, _known, ownership
from shadow_gpu_runners._addresses import check_address, check_subnet, is_everywhere, parse
from shadow_gpu_runners._egress import EgressRuleArgs as EgressRuleArgs  # noqa: PLC0414 - part of the API
from shadow_gpu_runners._validation import Problems, whole


class RunnerNetworkArgs(TypedDict):
    """Inputs of `RunnerNetwork`. Either `cidr` and `external_network`, or `network_id` and `subnet_id`."""

    cidr: NotRequired[str]
    """IPv4 range of a new runner subnet, for example `10.20.0.0/24`."""

    external_network: NotRequired[str]
    """Name of the provider network that a new router reaches."""

    network_id: NotRequired[pulumi.Input[str]]
    """ID of a network that exists already; no network, subnet or router is made then."""

    network_name: NotRequired[pulumi.Input[str]]
    """Name of a network that exists already, in place of its ID."""

    subnet_id: NotRequired[pulumi.Input[str]]
    """ID of the subnet to use in a network that exists already; looked up when the network has just one."""

    router_id: NotRequired[pulumi.Input[str]]
    """ID of a router that exists already, to which a new subnet is attached in place of a new router."""

    dns_servers: NotRequired[list[str]]
    """Resolvers handed to runners; the cloud's own when left out."""

    mtu: NotRequired[int]
    """Largest packet in bytes; the cloud's own when left out."""

    instances: NotRequired[int]
    """How many instances the subnet must hold at least; 1 when left out."""

    avoid_cidrs: NotRequired[list[str]]
    """Ranges that `cidr` must not overlap, for example those of a VPN."""

    egress: NotRequired[list[EgressRuleArgs]]
    """What may go out besides the metadata service; HTTPS, HTTP, DNS and NTP to anywhere when left out."""

    ssh_from: NotRequired[list[str]]
    """IPv4 ranges that may reach port 22; none when left out."""

    ssh_from_anywhere: NotRequired[bool]
    """Set to allow a `/0` range in `ssh_from`."""

    deployment: NotRequired[str]
    """Value of the ownership mark; `<project>.<stack>` when left out."""


class RunnerNetwork(pulumi.ComponentResource):
    """A network, subnet and router with a security group that lets nothing in and only listed traffic out."""

    network_id: pulumi.Output[str]
    """ID of the network to boot on; known only once the way out of it exists."""

    subnet_id: pulumi.Output[str]
    """ID of the subnet to take addresses from."""

    security_group_id: pulumi.Output[str]
    """ID of the security group for instances' ports; known only once its rules exist."""

    def __init__(
        self, name: str, args: RunnerNetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("shadow-gpu-runners:index:RunnerNetwork", name, {}, opts)
        _check(name, args)
        self._label = name
        self._args = args
        self._tags = ownership.tags(args.get("deployment") or ownership.deployment_id(), name)
        self._child = pulumi.ResourceOptions(parent=self)
        # Neutron refuses a second rule that differs in its description only.
        self._rule_options = pulumi.ResourceOptions(parent=self, delete_before_replace=True)
        if "cidr" in args:
            self.network_id, self.subnet_id = self._new_network(args["cidr"])
        else:
            self.network_id, self.subnet_id = self._existing_network()
        self.security_group_id = self._security_group()
        self.register_outputs(
            {
                "networkId": self.network_id,
                "subnetId": self.subnet_id,
                "securityGroupId": self.security_group_id,
            }
        )

    def _new_network(self, cidr: str) -> tuple[pulumi.Output[str], pulumi.Output[str]]:
        args = self._args
        network = openstack.networking.Network(
            f"{self._label}-network",
            name=self._label,
            description="GPU CI runners",
            mtu=whole(args["mtu"]) if "mtu" in args else None,
            tags=self._tags,
            opts=self._child,
        )
        subnet = openstack.networking.Subnet(
            f"{self._label}-subnet",
            name=self._label,
            network_id=network.id,
            cidr=cidr,
            ip_version=4,
            dns_nameservers=args.get("dns_servers"),
            tags=self._tags,
            opts=self._child,
        )
        interface = openstack.networking.RouterInterface(
            f"{self._label}-interface",
            router_id=self._router(),
            subnet_id=subnet.id,
            opts=self._child,
        )
        return _after(network.id, [interface.id]), _after(subnet.id, [interface.id])

    def _router(self) -> pulumi.Input[str]:
        if "router_id" in self._args:
            return self._args["router_id"]
        external = openstack.networking.get_network_output(
            name=self._args.get("external_network"),
            external=True,
            opts=pulumi.InvokeOutputOptions(parent=self),
        )
        return openstack.networking.Router(
            f"{self._label}-router",
            name=self._label,
            external_network_id=external.id,
            tags=self._tags,
            opts=self._child,
        ).id

    def _existing_network(self) -> tuple[pulumi.Output[str], pulumi.Output[str]]:
        look_up = pulumi.InvokeOutputOptions(parent=self)
        network = openstack.networking.get_network_output(
            network_id=self._args.get("network_id"), name=self._args.get("network_name"), opts=look_up
        )
        if "subnet_id" in self._args:
            return network.id, pulumi.Output.from_input(self._args["subnet_id"])
        subnet = openstack.networking.get_subnet_output(network_id=network.id, ip_version=4, opts=look_up)
        return network.id, subnet.id

    def _security_group(self) -> pulumi.Output[str]:
        group = openstack.networking.SecGroup(
            f"{self._label}-security-group",
            name=self._label,
            description="GPU CI runners: nothing in, listed traffic out",
            delete_default_rules=True,
            tags=self._tags,
            opts=self._child,
        )
        rules = [self._rule(group, rule) for rule in _egress.rules(self._args.get("egress"))]
        rules += [self._ssh_rule(group, cidr) for cidr in self._args.get("ssh_from", [])]
        return _after(group.id, [rule.id for rule in rules])

    def _rule(self, group: openstack.networking.SecGroup, rule: _egress.Rule) -> Any:
        return openstack.networking.SecGroupRule(
            f"{self._label}-{rule.key}",
            security_group_id=group.id,
            direction="egress",
            ethertype="IPv4",
            protocol=rule.protocol,
            port_range_min=rule.first_port,
            port_range_max=rule.last_port,
            remote_ip_prefix=rule.cidr,
            description=rule.description,
            opts=self._rule_options,
        )

    def _ssh_rule(self, group: openstack.networking.SecGroup, cidr: str) -> Any:
        return openstack.networking.SecGroupRule(
            f"{self._label}-ssh-{cidr.replace('/', '-')}",
            security_group_id=group.id,
            direction="ingress",
            ethertype="IPv4",
            protocol="tcp",
            port_range_min=22,
            port_range_max=22,
            remote_ip_prefix=cidr,
            description="SSH",
            opts=self._rule_options,
        )


def _after(value: pulumi.Output[str], others: Sequence[pulumi.Output[str]]) -> pulumi.Output[str]:
    """Return `value`, known once `others` are: who uses it is made after and destroyed before them."""
    return pulumi.Output.all(value, *others).apply(lambda known: str(known[0]))


def _check(name: str, args: RunnerNetworkArgs) -> None:
    problems = Problems(f"RunnerNetwork {name!r}")
    _known.check_kinds(problems, args, RunnerNetworkArgs)
    _check_choice(problems, args)
    if "cidr" in args:
        check_subnet(
            problems, "cidr", args["cidr"], whole(args.get("instances", 1)), _avoided(problems, args)
        )
    if "mtu" in args and not 1280 <= args["mtu"] <= 9216:
        problems.add("mtu", args["mtu"], "1280 to 9216 bytes", "leave it out to take the cloud's own")
    for index, server in enumerate(args.get("dns_servers", [])):
        check_address(problems, f"dnsServers[{index}]", server)
    _egress.check(problems, args.get("egress"))
    _check_ssh(problems, args)
    problems.raise_if_any()


def _check_choice(problems: Problems, args: RunnerNetworkArgs) -> None:
    existing = [key for key in ("network_id", "network_name") if key in args]
    if "cidr" in args and existing:
        problems.add("cidr", args["cidr"], "no range beside a network that exists", "remove one of them")
    if "cidr" not in args and len(existing) != 1:
        problems.add_missing(
            "cidr", "the range of a new network, or one of networkId and networkName", "add one of them"
        )
    if "cidr" in args and "external_network" not in args and "router_id" not in args:
        problems.add_missing(
            "externalNetwork",
            "the name of the provider network for a new router",
            "see `openstack network list --external`",
        )


def _avoided(problems: Problems, args: RunnerNetworkArgs) -> list[str]:
    ranges = enumerate(args.get("avoid_cidrs", []))
    return [text for index, text in ranges if parse(problems, f"avoidCidrs[{index}]", text)]


def _check_ssh(problems: Problems, args: RunnerNetworkArgs) -> None:
    for index, text in enumerate(args.get("ssh_from", [])):
        path = f"sshFrom[{index}]"
        if parse(problems, path, text) and is_everywhere(text) and not args.get("ssh_from_anywhere"):
            problems.add(
                path,
                text,
                "the range of those who administer the runners",
                "narrow it, or set sshFromAnywhere to open port 22 to the world",
            )
