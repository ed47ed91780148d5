"""Whether what a change adds fits the project's quota, read from the cloud."""

from collections.abc import Mapping
from dataclasses import dataclass

from cloud_quota import limits, words
from preview.digest import Preview
from preview.errors import InputError
from shadow_gpu_runners.preview import read
from shadow_gpu_runners.quota import Limit, added


@dataclass(frozen=True, slots=True)
class Room:
    """One quota."""

    resource: str
    needed: int
    """How many more the change makes."""
    room: int
    """How many are free."""

    @property
    def fits(self) -> bool:
        """Whether the change fits."""
        return self.needed <= self.room


def check(preview: Preview, cloud: str) -> list[Room]:
    """Compare what the change adds with the quota of the project of `cloud` (an entry of clouds.yaml)."""
    # Only this needs the cloud's SDK, which takes longer to load than all the rest.
    import openstack
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import SDKException

    try:
        connection = openstack.connect(cloud=cloud)
        sizes = {flavor.name: (flavor.vcpus, flavor.ram) for flavor in connection.compute.flavors()}
        known = limits(connection)
    except (SDKException, ClientException) as error:
        reason = str(error).rstrip(".")
        raise InputError(
            f"--quota {cloud}: the cloud did not answer: {reason}; check clouds.yaml and the network"
        ) from None
    return compare(added(read(preview.digest), sizes).amounts, known)


def compare(needed: Mapping[str, int], known: Mapping[str, Limit]) -> list[Room]:
    """Every limited quota that the change takes something of."""
    return [
        Room(words(name), number, known[name].limit - known[name].used)
        for name, number in needed.items()
        if number > 0 and name in known and known[name].limit >= 0
    ]
