"""The autoscaler's controller: a small machine that makes a fresh GPU machine for each CI job."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import _autoscaler_checks, _egress, _flavor_lookup, ownership
from shadow_gpu_runners._boot_args import BootArgs, settings_from
from shadow_gpu_runners._egress import EgressRuleArgs
from shadow_gpu_runners._validation import checked, whole
from shadow_gpu_runners.controller_boot import (
    BOOT_VOLUME_GIB,
    DATA_VOLUME_GIB,
    ControllerSettings,
    Tls,
    packages,
    user_data,
)


class AutoscalerTlsArgs(TypedDict):
    """How the controller proves who it is."""

    mode: NotRequired[str]
    """`acme` (when left out), got and renewed by Caddy; `certificate`, your own; `none`, plain http."""

    certificate: NotRequired[pulumi.Input[str]]
    """PEM chain, for `certificate`."""

    private_key: NotRequired[pulumi.Input[str]]
    """PEM key, for `certificate` (a secret)."""

    email: NotRequired[str]
    """Address that the ACME authority may write to."""


class AutoscalerVolumeArgs(TypedDict):
    """A volume of the controller: the one it boots from, or the one with its state, which outlives it."""

    size_gib: NotRequired[int]
    """Size in GiB; when left out 20 to boot from and 10 for the state."""

    volume_type: NotRequired[str]
    """Volume type; the cloud's default when left out."""


class AutoscalerArgs(TypedDict):
    """Inputs of `Autoscaler`."""

    url: str
    """Address under which forges and machines reach the controller, such as `https://ci.example.com`."""

    config: Mapping[str, pulumi.Input[Any]]
    """Its configuration (docs/reference/autoscaler-config.md), without what the component fills in."""

    user_data: Mapping[str, pulumi.Input[str]]
    """User-data template by pool, from `job_boot.user_data`."""

    secrets: Mapping[str, pulumi.Input[str]]
    """Secret by the name under which `config` refers to it."""

    clouds_yaml: pulumi.Input[str]
    """clouds.yaml with the application credential that the controller uses (a secret)."""

    wheel: str
    """Address of the `shadow-autoscaler` wheel followed by `#sha256=` and its checksum."""

    index_url: NotRequired[str]
    """Package index for what the wheel needs; pip's own when left out. Hashes are checked in any case."""

    flavor: str
    """Flavor of the controller: two vCPUs and 4 GB serve a thousand machines."""

    image_id: pulumi.Input[str]
    """ID of an image with cloud-init and Python 3.11 or newer."""

    network_id: pulumi.Input[str]
    """ID of the network."""

    subnet_id: NotRequired[pulumi.Input[str]]
    """ID of the subnet; the cloud chooses when left out."""

    floating_ip_pool: NotRequired[str]
    """External network that gives the controller an address reachable from outside; none when left out."""

    allow_from: NotRequired[list[str]]
    """IPv4 ranges that may reach port 443; anywhere when left out, since forges call from many addresses."""

    ssh_from: NotRequired[list[str]]
    """IPv4 ranges that may reach port 22; none when left out."""

    egress: NotRequired[list[EgressRuleArgs]]
    """What may go out; web, DNS, NTP and the OpenStack APIs when left out."""

    key_name: NotRequired[pulumi.Input[str]]
    """Name of the key pair to log in with."""

    zone: NotRequired[str]
    """Availability zone of machine and volume; the cloud chooses when left out."""

    boot_volume: NotRequired[AutoscalerVolumeArgs]
    """The volume that it boots from; 20 GiB when left out."""

    data_volume: NotRequired[AutoscalerVolumeArgs]
    """The volume with its state."""

    tls: NotRequired[AutoscalerTlsArgs]
    """How it proves who it is."""

    boot: NotRequired[BootArgs]
    """Packages, mirrors and proxies of the machine."""

    deployment: NotRequired[str]
    """Value of the ownership mark; `<project>.<stack>` when left out."""


class Autoscaler(pulumi.ComponentResource):
    """A controller machine with its state on a volume: a new wheel or configuration replaces it."""

    server_id: pulumi.Output[str]
    """ID of the controller's server."""

    address: pulumi.Output[str]
    """Its address in the network."""

    floating_address: pulumi.Output[str]
    """Its address reachable from outside; empty without a pool."""

    data_volume_id: pulumi.Output[str]
    """ID of the volume with its state."""

    security_group_id: pulumi.Output[str]
    """ID of its security group."""

    url: pulumi.Output[str]
    """Where it is reached."""

    github_webhook_url: pulumi.Output[str]
    """Where GitHub's `workflow_job` and `workflow_run` events go."""

    gitlab_webhook_url: pulumi.Output[str]
    """Where GitLab's job and pipeline events go."""

    version: pulumi.Output[str]
    """Checksum of the installed wheel."""

    def __init__(self, name: str, args: AutoscalerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("shadow-gpu-runners:index:Autoscaler", name, {}, opts)
        _autoscaler_checks.check(name, args, AutoscalerArgs)
        self._label, self._args = name, args
        self._mark = args.get("deployment") or ownership.deployment_id()
        # The autoscaler itself marks what it makes with `autoscaler`, and removes what it does not know.
        self._component = f"{name}-controller"
        self._child = pulumi.ResourceOptions(parent=self)
        group = self._security_group()
        self.security_group_id = group.id
        volume = self._data_volume()
        port = self._port(group)
        server = self._server(volume, port)
        self._outputs(server, port, volume)
        names = [each for each in type(self).__annotations__ if not each.startswith("_")]
        self.register_outputs({_autoscaler_checks.camel(each): getattr(self, each) for each in names})

    def _security_group(self) -> openstack.networking.SecGroup:
        group = openstack.networking.SecGroup(
            f"{self._label}-security-group",
            name=self._label,
            description="Autoscaler: HTTPS in, listed traffic out",
            delete_default_rules=True,
            tags=ownership.tags(self._mark, self._component),
            opts=self._child,
        )
        ports = {"https": 443} | ({"acme": 80} if self._tls() == "acme" else {})
        for what, port in ports.items():
            for cidr in self._args.get("allow_from", [_egress.ANYWHERE]):
                self._ingress(group, what, port, cidr)
        for cidr in self._args.get("ssh_from", []):
            self._ingress(group, "ssh", 22, cidr)
        for rule in _egress.rules(self._args.get("egress", list(_autoscaler_checks.EGRESS))):
            self._rule(group, rule.key, "egress", rule)
        return group

    def _ingress(self, group: openstack.networking.SecGroup, what: str, port: int, cidr: str) -> None:
        rule = _egress.Rule("tcp", port, port, cidr, what)
        self._rule(group, f"{what}-{cidr.replace('/', '-')}", "ingress", rule)

    def _rule(
        self, group: openstack.networking.SecGroup, name: str, direction: str, rule: _egress.Rule
    ) -> None:
        openstack.networking.SecGroupRule(
            f"{self._label}-{name}",
            security_group_id=group.id,
            direction=direction,
            ethertype="IPv4",
            protocol=rule.protocol,
            port_range_min=rule.first_port,
            port_range_max=rule.last_port,
            remote_ip_prefix=rule.cidr,
            description=rule.description,
            # Neutron refuses a second rule that differs in its description only.
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )

    def _data_volume(self) -> openstack.blockstorage.Volume:
        wanted = self._args.get("data_volume", {})
        return openstack.blockstorage.Volume(
            f"{self._label}-data",
            name=f"{self._label}-data",
            description="State of the autoscaler",
            size=whole(wanted.get("size_gib", DATA_VOLUME_GIB)),
            volume_type=wanted.get("volume_type"),
            availability_zone=self._args.get("zone"),
            metadata=ownership.metadata(self._mark, self._component),
            opts=self._child,
        )

    def _port(self, group: openstack.networking.SecGroup) -> openstack.networking.Port:
        subnet = self._args.get("subnet_id")
        return openstack.networking.Port(
            f"{self._label}-port",
            name=self._label,
            network_id=self._args["network_id"],
            fixed_ips=None if subnet is None else [{"subnet_id": subnet}],
            security_group_ids=[group.id],
            tags=ownership.tags(self._mark, self._component),
            opts=self._child,
        )

    def _server(
        self, volume: openstack.blockstorage.Volume, port: openstack.networking.Port
    ) -> openstack.compute.Instance:
        flavor = self._args["flavor"]
        where = f"Autoscaler {self._label!r}"
        ids: pulumi.Output[dict[str, str]] = pulumi.Output.from_input(
            _flavor_lookup.find(self, [flavor], ["flavor"], where, available=None)
        )
        return openstack.compute.Instance(
            f"{self._label}-server",
            name=self._label,
            flavor_name=ids.apply(lambda _: flavor),
            block_devices=[self._boot_volume(), _attached(volume)],
            networks=[openstack.compute.InstanceNetworkArgs(port=port.id)],
            key_pair=self._args.get("key_name"),
            user_data=self._user_data(volume),
            availability_zone=self._args.get("zone"),
            metadata=ownership.metadata(self._mark, self._component),
            # SQLite is closed well, and the volume is free, before the next machine starts.
            stop_before_destroy=True,
            opts=pulumi.ResourceOptions(
                parent=self,
                # Port, volume and address belong to one machine at a time.
                delete_before_replace=True,
                replace_on_changes=["flavor_name"],
            ),
        )

    def _boot_volume(self) -> openstack.compute.InstanceBlockDeviceArgs:
        wanted = self._args.get("boot_volume", {})
        return openstack.compute.InstanceBlockDeviceArgs(
            uuid=self._args["image_id"],
            source_type="image",
            destination_type="volume",
            boot_index=0,
            volume_size=whole(wanted.get("size_gib", BOOT_VOLUME_GIB)),
            volume_type=wanted.get("volume_type"),
            delete_on_termination=True,
        )

    def _tls(self) -> Tls:
        return cast("Tls", self._args.get("tls", {}).get("mode", "acme"))

    def _user_data(self, volume: openstack.blockstorage.Volume) -> pulumi.Output[str]:
        tls = self._args.get("tls", {})
        late: pulumi.Output[dict[str, Any]] = pulumi.Output.all(
            secrets=self._args["secrets"],
            templates=self._args["user_data"],
            clouds_yaml=self._args["clouds_yaml"],
            config=self._args["config"],
            volume=volume.id,
            certificate=tls.get("certificate", ""),
            private_key=tls.get("private_key", ""),
            boot=self._args.get("boot", {}),
        )
        where = f"Autoscaler {self._label!r}"
        text = late.apply(lambda known: user_data(self._settings(known)))
        return pulumi.Output.secret(checked(text, where, _autoscaler_checks.check_user_data))

    def _settings(self, known: Mapping[str, Any]) -> ControllerSettings:
        url, _, digest = self._args["wheel"].partition("#sha256=")
        boot = {"gpu_count": 0, "repositories": [], "packages": list(packages(self._tls())), **known["boot"]}
        return ControllerSettings(
            url=self._args["url"],
            config=known["config"],
            templates=known["templates"],
            secrets=known["secrets"],
            clouds_yaml=known["clouds_yaml"],
            wheel_url=url,
            wheel_sha256=digest,
            deployment=self._mark,
            index_url=self._args.get("index_url", ""),
            data_volume_id=known["volume"],
            tls=self._tls(),
            certificate=known["certificate"],
            private_key=known["private_key"],
            acme_email=self._args.get("tls", {}).get("email", ""),
            port=_autoscaler_checks.port_of(self._args["config"]),
            boot=settings_from(boot, ""),
        )

    def _outputs(
        self,
        server: openstack.compute.Instance,
        port: openstack.networking.Port,
        volume: openstack.blockstorage.Volume,
    ) -> None:
        base = self._args["url"].rstrip("/")
        self.server_id = server.id
        self.address = port.all_fixed_ips.apply(lambda found: found[0] if found else "")
        self.floating_address = self._floating_ip(port)
        self.data_volume_id = volume.id
        self.url = pulumi.Output.from_input(base)
        self.github_webhook_url = pulumi.Output.from_input(f"{base}/webhook/github")
        self.gitlab_webhook_url = pulumi.Output.from_input(f"{base}/webhook/gitlab")
        self.version = pulumi.Output.from_input(self._args["wheel"].partition("#sha256=")[2])

    def _floating_ip(self, port: openstack.networking.Port) -> pulumi.Output[str]:
        pool = self._args.get("floating_ip_pool")
        if pool is None:
            return pulumi.Output.from_input("")
        return openstack.networking.FloatingIp(
            f"{self._label}-address",
            pool=pool,
            port_id=port.id,
            description=self._label,
            tags=ownership.tags(self._mark, self._component),
            opts=self._child,
        ).address


def _attached(volume: openstack.blockstorage.Volume) -> openstack.compute.InstanceBlockDeviceArgs:
    return openstack.compute.InstanceBlockDeviceArgs(
        uuid=volume.id,
        source_type="volume",
        destination_type="volume",
        boot_index=-1,
        delete_on_termination=False,
    )
