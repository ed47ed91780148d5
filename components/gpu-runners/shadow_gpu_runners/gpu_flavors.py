"""Flavors that runners are sized by: looked up as a tenant, or made by the operator of a private cloud."""

from typing import NotRequired, TypedDict

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import _flavor_lookup, _known
from shadow_gpu_runners._market import spot_names
from shadow_gpu_runners._validation import Problems, whole
from shadow_gpu_runners.catalog import GRAMMAR, FlavorName, FlavorNameError
from shadow_gpu_runners.spot import SpotNames

MARKETS = ("both", "spot", "on-demand")


class GpuFlavorsArgs(TypedDict):
    """Inputs of `GpuFlavors`."""

    wanted: list[str]
    """On-demand names of the flavors, for example `boost-c8m32-gpu-a4500-1`."""

    market: NotRequired[str]
    """Which twins are needed: `both` (when left out), `spot` or `on-demand`."""

    spot_rule: NotRequired[str]
    """Naming of spot twins: `second-word:preemptible` (when left out), `prefix:<text>`, `suffix:<text>`."""

    spot_names: NotRequired[dict[str, str]]
    """Spot names by on-demand names, for twins that the rule gets wrong."""

    create: NotRequired[bool]
    """Make the flavors. Only the administrator of a private cloud can; a tenant looks them up."""

    extra_specs: NotRequired[dict[str, dict[str, str]]]
    """Extra specs of created flavors by GPU model; `{cards}` in a value is the number of cards."""

    disk_gib: NotRequired[int]
    """Local disk in GiB of created flavors; 0, which boots from volumes, when left out."""

    available: NotRequired[list[str]]
    """Names that the cloud has, to tell near matches from; those of the catalog when left out."""


class GpuFlavors(pulumi.ComponentResource):
    """The flavors wanted, with spot twins; one that does not exist fails the preview with near matches."""

    flavor_ids: pulumi.Output[dict[str, str]]
    """ID of each flavor by its name, spot twins included."""

    names: pulumi.Output[list[str]]
    """Names of the flavors, spot twins included; known once each exists."""

    def __init__(self, name: str, args: GpuFlavorsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("shadow-gpu-runners:index:GpuFlavors", name, {}, opts)
        twins = _twins(args, _check(name, args))
        if args.get("create"):
            self.flavor_ids = self._created(name, args, twins)
        else:
            paths = [path for path, _, _ in twins]
            wanted = [flavor for _, flavor, _ in twins]
            found = _flavor_lookup.find(self, wanted, paths, f"GpuFlavors {name!r}", args.get("available"))
            self.flavor_ids = pulumi.Output.from_input(found)
        self.names = self.flavor_ids.apply(list)
        self.register_outputs({"flavorIds": self.flavor_ids, "names": self.names})

    def _created(
        self, name: str, args: GpuFlavorsArgs, twins: list[tuple[str, str, FlavorName]]
    ) -> pulumi.Output[dict[str, str]]:
        made = {
            flavor: openstack.compute.Flavor(
                f"{name}-{flavor}",
                name=flavor,
                vcpus=size.vcpus,
                ram=size.ram_gib * 1024,
                disk=whole(args.get("disk_gib", 0)),
                is_public=True,
                extra_specs=_extra_specs(args, size),
                # Names are unique in a cloud, so the new flavor has to wait for the old one's end.
                opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
            )
            for _, flavor, size in twins
        }
        return pulumi.Output.all(**{flavor: resource.id for flavor, resource in made.items()})


def _check(name: str, args: GpuFlavorsArgs) -> SpotNames:
    problems = Problems(f"GpuFlavors {name!r}")
    _known.check_kinds(problems, args, GpuFlavorsArgs)
    if not args["wanted"]:
        problems.add("wanted", [], "at least one flavor", "see `openstack flavor list`")
    problems.one_of("market", args.get("market", "both"), MARKETS)
    for index, flavor in enumerate(args["wanted"]):
        if args.get("create") and _parsed(flavor) is None:
            problems.add(f"wanted[{index}]", flavor, GRAMMAR, "a flavor's size is read out of its name")
    names = spot_names(problems, args.get("spot_rule"), args.get("spot_names"))
    problems.raise_if_any()
    return names


def _parsed(flavor: str) -> FlavorName | None:
    try:
        return FlavorName.parse(flavor)
    except FlavorNameError:
        return None


def _twins(args: GpuFlavorsArgs, names: SpotNames) -> list[tuple[str, str, FlavorName]]:
    """Return (input path, flavor, size) of each twin that is needed."""
    market = args.get("market", "both")
    found: list[tuple[str, str, FlavorName]] = []
    for flavor in dict.fromkeys(args["wanted"]):
        index = args["wanted"].index(flavor)
        size = _parsed(flavor) or FlavorName("", 0, 0, "", 0)
        if market != "spot":
            found.append((f"wanted[{index}]", flavor, size))
        if market != "on-demand":
            found.append((f"wanted[{index}]", names.spot_name(flavor), size))
    return found


def _extra_specs(args: GpuFlavorsArgs, size: FlavorName) -> dict[str, str]:
    specs = args.get("extra_specs", {}).get(size.model, {})
    return {key: value.replace("{cards}", str(size.cards)) for key, value in specs.items()}
