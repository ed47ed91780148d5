"""Whether the stack fits the project's quota, read from the cloud."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import openstack
from openstack.exceptions import SDKException

from preflight.quotas import available
from preview.digest import Json, Preview, items, part
from preview.errors import InputError

_INSTANCE: Final = "openstack:compute/instance:Instance"
_COUNTED: Final = {
    "openstack:networking/port:Port": "ports",
    "openstack:networking/floatingIp:FloatingIp": "floating IPs",
}


@dataclass(frozen=True, slots=True)
class Room:
    """One quota."""

    resource: str
    needed: int
    """What the stack takes after the change."""
    room: int
    """What is free for it, its present use included."""

    @property
    def fits(self) -> bool:
        """Whether the stack fits."""
        return self.needed <= self.room


def check(preview: Preview, cloud: str) -> list[Room]:
    """Compare what the stack needs with the quota of the project of `cloud` (an entry of clouds.yaml)."""
    try:
        connection = openstack.connect(cloud=cloud)
        sizes = {flavor.name: (flavor.vcpus, flavor.ram) for flavor in connection.compute.flavors()}
        free = available(connection, preview.stack.replace("/", "."))
    except SDKException as error:
        raise InputError(
            f"--quota {cloud}: the cloud did not answer: {error}; check clouds.yaml and the network"
        ) from None
    return compare(needs(preview, sizes), free)


def compare(needed: Mapping[str, int], free: Mapping[str, int]) -> list[Room]:
    """Every limited quota that the stack takes something of."""
    return [Room(name, number, free[name]) for name, number in needed.items() if number and name in free]


def needs(preview: Preview, sizes: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """What the stack takes of each quota after the change; `sizes` has vCPUs and MiB by flavor name."""
    total: Counter[str] = Counter()
    for state in _after(preview):
        kind, inputs = str(state.get("type")), part(state, "inputs")
        if kind == _INSTANCE:
            cores, ram = sizes.get(str(inputs.get("flavorName")), (0, 0))
            volumes = [d for d in items(inputs, "blockDevices") if d.get("destinationType") == "volume"]
            gibibytes = sum(_number(device.get("volumeSize")) for device in volumes)
            total.update({"instances": 1, "cores": cores, "ram MiB": ram})
            total.update({"volumes": len(volumes), "volume GiB": gibibytes})
        elif kind in _COUNTED:
            total[_COUNTED[kind]] += 1
        elif kind == "openstack:blockstorage/volume:Volume":
            total.update({"volumes": 1, "volume GiB": _number(inputs.get("size"))})
    return dict(total)


def _after(preview: Preview) -> Iterable[Json]:
    gone = {"delete", "delete-replaced", "discard"}
    last = {str(step["urn"]): part(step, "newState") for step in preview.steps if step.get("op") not in gone}
    return last.values()


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0
