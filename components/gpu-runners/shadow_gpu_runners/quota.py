"""What a plan needs of a project's quota, against what the project has; pure, so that policies can use it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from shadow_gpu_runners.catalog import FlavorName, FlavorNameError
from shadow_gpu_runners.preview import Plan, Resource

Sizes = Mapping[str, tuple[int, int]]
"""vCPU and RAM in MiB by flavor name, for flavors whose name does not say them."""

NAMES: tuple[str, ...] = (
    "instances",
    "cores",
    "ram_mib",
    "server_groups",
    "server_group_members",
    "key_pairs",
    "volumes",
    "gigabytes",
    "networks",
    "subnets",
    "routers",
    "ports",
    "floating_ips",
    "security_groups",
    "security_group_rules",
)
"""What quotas count. `server_group_members` is per group (its `used` is 0), the rest per project."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A project's limit of one thing."""

    limit: int
    """Most that the project may have; negative for no limit."""

    used: int
    """What it has now."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a set of resources takes."""

    amounts: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of each thing out of `NAMES`."""

    unknown_flavors: tuple[str, ...] = ()
    """Flavors whose vCPU and RAM are not known, and not counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A limit that a plan would exceed."""

    name: str
    """The thing, one of `NAMES`."""

    needed: int
    """How many more the plan makes."""

    limit: Limit
    """The project's limit."""

    def __str__(self) -> str:
        free = max(0, self.limit.limit - self.limit.used)
        return (
            f"quota {self.name}: the plan adds {self.needed}, {free} of {self.limit.limit} are free "
            f"({self.limit.used} used); ask for {self.limit.used + self.needed}, or make the plan smaller"
        )


_Counter = Callable[[Resource, Sizes], Mapping[str, int]]


def _nothing(_resource: Resource, _sizes: Sizes) -> Mapping[str, int]:
    return {}


def _one(name: str) -> _Counter:
    return lambda _resource, _sizes: {name: 1}


def _instance(resource: Resource, sizes: Sizes) -> Mapping[str, int]:
    vcpus, ram = _size(resource.text("flavorName"), sizes) or (0, 0)
    volumes = resource.new_volumes()
    return {
        "instances": 1,
        "cores": vcpus,
        "ram_mib": ram,
        "volumes": len(volumes),
        "gigabytes": sum(volume.size_gib for volume in volumes),
    }


def _volume(resource: Resource, _sizes: Sizes) -> Mapping[str, int]:
    return {"volumes": 1, "gigabytes": resource.whole("size")}


_COUNTERS: Mapping[str, _Counter] = {
    "openstack:compute/instance:Instance": _instance,
    "openstack:compute/serverGroup:ServerGroup": _one("server_groups"),
    "openstack:compute/keypair:Keypair": _one("key_pairs"),
    "openstack:blockstorage/volume:Volume": _volume,
    "openstack:networking/network:Network": _one("networks"),
    "openstack:networking/subnet:Subnet": _one("subnets"),
    "openstack:networking/router:Router": _one("routers"),
    "openstack:networking/routerInterface:RouterInterface": _one("ports"),
    "openstack:networking/port:Port": _one("ports"),
    "openstack:networking/floatingIp:FloatingIp": _one("floating_ips"),
    "openstack:networking/secGroup:SecGroup": _one("security_groups"),
    "openstack:networking/secGroupRule:SecGroupRule": _one("security_group_rules"),
}


def _size(flavor: str, sizes: Sizes) -> tuple[int, int] | None:
    if flavor in sizes:
        return sizes[flavor]
    try:
        name = FlavorName.parse(flavor)
    except FlavorNameError:
        return None
    return name.vcpus, name.ram_gib * 1024


def need(resources: Iterable[Resource], sizes: Sizes | None = None) -> Need:
    """Return what `resources` take, with the `sizes` of flavors whose name does not tell."""
    known = sizes or {}
    amounts: dict[str, int] = dict.fromkeys(NAMES, 0)
    unknown: list[str] = []
    members: Counter[str] = Counter()
    for resource in resources:
        counter = _COUNTERS.get(resource.type, _nothing)
        for name, amount in counter(resource, known).items():
            amounts[name] += amount
        if counter is _instance and _size(resource.text("flavorName"), known) is None:
            unknown.append(resource.text("flavorName") or "(not known yet)")
        if resource.inputs.get("schedulerHints"):
            members[resource.name.rpartition("-")[0]] += 1
    amounts["server_group_members"] = max(members.values(), default=0)
    return Need(amounts, tuple(dict.fromkeys(unknown)))


def added(plan: Plan, sizes: Sizes | None = None) -> Need:
    """Return what `plan` takes beyond what exists; negative where it frees some.

    Replacements count once, as the components delete the old one first.
    """
    before, after = need(plan.before(), sizes), need(plan.after(), sizes)
    amounts = {name: after.amounts[name] - before.amounts[name] for name in NAMES}
    # Counted per group and not per project: what is there is not in addition.
    amounts["server_group_members"] = after.amounts["server_group_members"]
    return Need(amounts, after.unknown_flavors)


def check(needed: Need, limits: Mapping[str, Limit]) -> list[Finding]:
    """Return the limits that the need for more than now exceeds; things without a limit are skipped."""
    return [
        Finding(name, amount, limits[name])
        for name, amount in needed.amounts.items()
        if name in limits and amount > 0 and 0 <= limits[name].limit < limits[name].used + amount
    ]
