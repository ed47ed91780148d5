"""A group of long-lived instances that keep their names, ports and addresses when one is replaced."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NotRequired, TypedDict, cast

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import (
    _flavor_lookup,
    _group_checks,
    _group_prices,
    _known,
    _taken_names,
    ownership,
)
from shadow_gpu_runners._market import Slot
from shadow_gpu_runners._validation import checked, whole
from shadow_gpu_runners.catalog import BOOT_VOLUME_GIB, BOOT_VOLUME_TYPE


class BootVolumeArgs(TypedDict):
    """The volume that an instance boots from. It is deleted with its instance."""

    size_gib: NotRequired[int]
    """Size in GiB; 100 when left out."""

    volume_type: NotRequired[str]
    """Volume type; `Wood` when left out, empty for the cloud's own default."""


class InstanceGroupArgs(TypedDict):
    """Inputs of `InstanceGroup`."""

    count: int
    """How many instances; 0 keeps none."""

    flavor: str
    """On-demand name of the flavor, for example `boost-c8m32-gpu-a4500-1`; the spot twin is derived."""

    market: NotRequired[str]
    """How they are bought: `spot` (when left out), `on-demand` or `spot-then-on-demand`."""

    on_demand_fallback: NotRequired[list[str]]
    """Names of instances that run on demand since spot had no room; in market `spot-then-on-demand` only."""

    image_id: pulumi.Input[str]
    """ID of the image. Another image replaces the instances."""

    network_id: pulumi.Input[str]
    """ID of the network."""

    subnet_id: NotRequired[pulumi.Input[str]]
    """ID of the subnet that addresses come from; the cloud chooses when left out."""

    security_group_ids: Sequence[pulumi.Input[str]]
    """IDs of the security groups of each port."""

    user_data: NotRequired[pulumi.Input[str]]
    """Cloud-init user-data, kept secret. Another text replaces the instances."""

    key_name: NotRequired[pulumi.Input[str]]
    """Name of the key pair to log in with."""

    name_prefix: NotRequired[str]
    """Begin of the instances' names (`<prefix>-01`, ...); the component's name when left out."""

    boot_volume: NotRequired[BootVolumeArgs]
    """The volume to boot from."""

    local_disk: NotRequired[bool]
    """Boot from the host's own disk instead of a volume. Most of Shadow's hosts have none."""

    zones: NotRequired[list[str]]
    """Availability zones that instances are spread over in turn; the cloud chooses when left out."""

    anti_affinity: NotRequired[str]
    """Other hosts for each: `soft` (where possible, when left out), `strict` or `none`."""

    floating_ip_pool: NotRequired[str]
    """External network that gives each instance an address reachable from outside; none when left out."""

    max_unavailable: NotRequired[int]
    """How many instances may be away while a change replaces them; half of them when left out."""

    spot_rule: NotRequired[str]
    """Naming of spot twins: `second-word:preemptible` (when left out), `prefix:<text>`, `suffix:<text>`."""

    spot_names: NotRequired[dict[str, str]]
    """Spot names by on-demand names, for twins that the rule gets wrong."""

    flavor_ids: NotRequired[pulumi.Input[Mapping[str, pulumi.Input[str]]]]
    """IDs of the flavors by name (`GpuFlavors.flavor_ids`); looked up when left out."""

    prices: NotRequired[dict[str, str]]
    """EUR per hour by flavor name like `0.35`, in place of the price book's."""

    metadata: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Further server metadata beside the ownership mark."""

    deployment: NotRequired[str]
    """Value of the ownership mark; `<project>.<stack>` when left out."""

    create_timeout: NotRequired[str]
    """How long an instance may take to become active, like `20m` (when left out)."""

    delete_timeout: NotRequired[str]
    """How long an instance may take to stop and go, like `20m` (when left out)."""


class InstanceGroup(pulumi.ComponentResource):
    """Long-lived instances named `<prefix>-01` on; a smaller group loses its last ones and no other."""

    names: pulumi.Output[list[str]]
    """Names of the instances."""

    instance_ids: pulumi.Output[dict[str, str]]
    """Server ID by name."""

    addresses: pulumi.Output[dict[str, str]]
    """Address in the network by name."""

    floating_addresses: pulumi.Output[dict[str, str]]
    """Address reachable from outside by name; empty without a pool."""

    flavors: pulumi.Output[dict[str, str]]
    """Flavor by name."""

    hourly_price: pulumi.Output[str]
    """EUR per hour of all servers together; `unknown` when one has no price."""

    monthly_spot: pulumi.Output[str]
    """EUR per month (730 h) if every instance were spot; `unknown` without a price."""

    monthly_on_demand: pulumi.Output[str]
    """EUR per month (730 h) if every instance were on demand; `unknown` without a price."""

    price_note: pulumi.Output[str]
    """Source and date of the prices, and whether one is assumed."""

    def __init__(
        self, name: str, args: InstanceGroupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("shadow-gpu-runners:index:InstanceGroup", name, {}, opts)
        _group_checks.check_kinds(name, args, InstanceGroupArgs)
        self._slots, twins = _group_checks.plan(name, args, _taken_names.of(self))
        self._label = name
        self._args = args
        self._mark = args.get("deployment") or ownership.deployment_id()
        self._servers: dict[str, openstack.compute.Instance] = {}
        self._flavor_ids = self._find_flavors()
        self._user_data = self._secret_user_data()
        hints = self._server_group()
        ports = {slot.name: self._port(slot) for slot in self._slots}
        for slot in self._slots:
            self._servers[slot.name] = self._server(slot, ports[slot.name], hints)
        floating = {name: self._floating_ip(name, port) for name, port in ports.items()}
        self._set_outputs(ports, floating)
        self._set_prices(_group_prices.of([slot.flavor for slot in self._slots], args, twins))
        self.register_outputs({_camel(key): getattr(self, key) for key in type(self).__annotations__})

    def _existing(self, flavor: str) -> pulumi.Input[str]:
        """Return the flavor's name once the look-up has shown that it exists."""
        return flavor if self._flavor_ids is None else self._flavor_ids.apply(lambda _: flavor)

    def _find_flavors(self) -> pulumi.Output[Any] | None:
        """Return what waits for the flavors to be found; None where the program knows their IDs."""
        if "flavor_ids" in self._args:
            ids = self._args["flavor_ids"]
            return None if _known.is_complete(ids) else pulumi.Output.all(ids)
        names = _group_checks.flavors_to_find(self._args, self._slots)
        where = f"InstanceGroup {self._label!r}"
        found = _flavor_lookup.find(self, names, ["flavor"] * len(names), where, available=None)
        return pulumi.Output.from_input(found)

    def _secret_user_data(self) -> pulumi.Output[str] | None:
        if "user_data" not in self._args:
            return None
        where = f"InstanceGroup {self._label!r}"
        # The provider marks nothing but the administrator's password as secret.
        return pulumi.Output.secret(checked(self._args["user_data"], where, _group_checks.check_user_data))

    def _server_group(self) -> list[openstack.compute.InstanceSchedulerHintArgs]:
        choice = self._args.get("anti_affinity", "soft")
        if choice == "none":
            return []
        group = openstack.compute.ServerGroup(
            f"{self._label}-server-group",
            name=self._args.get("name_prefix", self._label),
            policies="soft-anti-affinity" if choice == "soft" else "anti-affinity",
            opts=pulumi.ResourceOptions(parent=self),
        )
        return [openstack.compute.InstanceSchedulerHintArgs(group=group.id)]

    def _port(self, slot: Slot) -> openstack.networking.Port:
        subnet = self._args.get("subnet_id")
        return openstack.networking.Port(
            f"{self._label}-{slot.suffix}-port",
            name=slot.name,
            network_id=self._args["network_id"],
            fixed_ips=None if subnet is None else [{"subnet_id": subnet}],
            security_group_ids=self._args["security_group_ids"],
            tags=ownership.tags(self._mark, self._label),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _server(
        self,
        slot: Slot,
        port: openstack.networking.Port,
        hints: list[openstack.compute.InstanceSchedulerHintArgs],
    ) -> openstack.compute.Instance:
        local = self._args.get("local_disk", False)
        return openstack.compute.Instance(
            f"{self._label}-{slot.suffix}",
            name=slot.name,
            flavor_name=self._existing(slot.flavor),
            image_id=self._args["image_id"] if local else None,
            block_devices=None if local else [self._boot_volume()],
            networks=[openstack.compute.InstanceNetworkArgs(port=port.id)],
            key_pair=self._args.get("key_name"),
            user_data=self._user_data,
            availability_zone=slot.zone,
            scheduler_hints=hints or None,
            metadata={**self._metadata(), **ownership.metadata(self._mark, self._label)},
            stop_before_destroy=True,
            opts=self._server_options(slot),
        )

    def _metadata(self) -> dict[str, pulumi.Input[str]]:
        """Return the user's metadata; what is known only later is checked then."""
        where = f"InstanceGroup {self._label!r}"
        return {
            key: checked(value, where, partial(_group_checks.check_metadata, key=key))
            if isinstance(value, pulumi.Output)
            else value
            for key, value in self._args.get("metadata", {}).items()
        }

    def _boot_volume(self) -> openstack.compute.InstanceBlockDeviceArgs:
        volume = self._args.get("boot_volume", {})
        return openstack.compute.InstanceBlockDeviceArgs(
            uuid=self._args["image_id"],
            source_type="image",
            destination_type="volume",
            boot_index=0,
            volume_size=whole(volume.get("size_gib", BOOT_VOLUME_GIB)),
            volume_type=volume.get("volume_type", BOOT_VOLUME_TYPE) or None,
            delete_on_termination=True,
        )

    def _server_options(self, slot: Slot) -> pulumi.ResourceOptions:
        first = None if slot.after is None else [self._servers[slot.after]]
        return pulumi.ResourceOptions(
            parent=self,
            depends_on=first,
            # Name and port are fixed, and a second GPU may exceed the quota: the old one goes first.
            delete_before_replace=True,
            # The provider would resize and rebuild in place, which spot servers and volumes do not survive.
            replace_on_changes=["flavor_name", "image_id"],
            custom_timeouts=pulumi.CustomTimeouts(
                create=self._args.get("create_timeout", "20m"), delete=self._args.get("delete_timeout", "20m")
            ),
        )

    def _floating_ip(self, port_name: str, port: openstack.networking.Port) -> pulumi.Output[str] | None:
        pool = self._args.get("floating_ip_pool")
        if pool is None:
            return None
        number = port_name.rpartition("-")[2]
        return openstack.networking.FloatingIp(
            f"{self._label}-{number}-address",
            pool=pool,
            port_id=port.id,
            description=port_name,
            tags=ownership.tags(self._mark, self._label),
            opts=pulumi.ResourceOptions(parent=self),
        ).address

    def _set_outputs(
        self,
        ports: dict[str, openstack.networking.Port],
        floating: dict[str, pulumi.Output[str] | None],
    ) -> None:
        self.names = pulumi.Output.from_input(list(ports))
        self.instance_ids = _resolved(
            {slot.name: self._usable(slot, self._servers[slot.name]) for slot in self._slots}
        )
        self.addresses = _resolved({name: port.all_fixed_ips.apply(_first) for name, port in ports.items()})
        self.floating_addresses = _resolved(
            {name: address for name, address in floating.items() if address is not None}
        )
        self.flavors = _resolved({slot.name: slot.flavor for slot in self._slots})

    def _usable(self, slot: Slot, server: openstack.compute.Instance) -> pulumi.Output[str]:
        """Return the ID of `server`; one in state ERROR fails the run: the provider would not."""

        def check(known: list[str | None]) -> str:
            if known[1] == "error":
                message = (
                    f"server {slot.name} ({known[0]}) is in state ERROR, expected ACTIVE; "
                    f"see why with `openstack server show -c fault {known[0]}`, "
                    f"then make it anew with `pulumi up --replace '**::{self._label}-{slot.suffix}'`"
                )
                pulumi.log.error(message, server)
                # An error in the log alone leaves the exit status at 0.
                raise pulumi.RunError(f"server {slot.name} is not usable")
            return str(known[0])

        return pulumi.Output.all(server.id, server.power_state).apply(check)

    def _set_prices(self, money: _group_prices.Money) -> None:
        self.hourly_price = pulumi.Output.from_input(money.hourly)
        self.monthly_spot = pulumi.Output.from_input(money.monthly_spot)
        self.monthly_on_demand = pulumi.Output.from_input(money.monthly_on_demand)
        self.price_note = pulumi.Output.from_input(money.note)


def _resolved(values: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[dict[str, str]]:
    if all(isinstance(value, str) for value in values.values()):
        return cast("pulumi.Output[dict[str, str]]", pulumi.Output.from_input({**values}))
    names = list(values)
    return pulumi.Output.all(*values.values()).apply(lambda known: dict(zip(names, known, strict=True)))


def _first(addresses: Sequence[str]) -> str:
    return addresses[0] if addresses else ""


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
