"""What the OpenStack adapter needs to know: whose servers, in which cloud, made of what."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class BootVolume:
    """A volume that a server boots from; it goes with the server."""

    size_gib: int
    volume_type: str = ""
    """The cloud's default type when empty."""
    zone: str = ""
    """Cinder's availability zone; its default when empty."""
    premade: bool = False
    """Whether the adapter makes the volume, which then carries our mark from the start, and the create call
    waits for it; else Nova makes it, and it is marked later."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a pool's servers are made of, besides the flavor."""

    image: str
    """Name or ID."""
    network: str
    """Name or ID."""
    security_groups: tuple[str, ...] = ()
    """Names or IDs; the project's default group when empty."""
    key_name: str = ""
    config_drive: bool = True
    volume: BootVolume | None = None
    """None boots from the flavor's local disk."""
    premade_port: bool = False
    """Whether the adapter makes the port: a full network is then an error of the call, not of the server."""


@dataclass(frozen=True, slots=True)
class OpenStackSettings:
    """Settings of `OpenStackCloud`."""

    deployment: str
    """Ownership mark; letters, digits, `.`, `_` and `-`, at most 100."""
    cloud: str
    """Entry in clouds.yaml."""
    machine: Machine
    pools: Mapping[str, Machine] = field(default_factory=dict[str, Machine])
    """Machines of single pools that differ from `machine`, by the pool's name."""
    region: str = ""
    """The entry's own region when empty."""
    clouds_file: str = ""
    """clouds.yaml; the SDK's usual places when empty."""
    microversion: str = "2.90"
    """Highest compute microversion to speak, 2.79 to 2.90; lowered to what the cloud speaks."""
    connect_timeout_s: float = 10.0
    timeout_s: float = 60.0
    """Longest silence of an answer."""
    volume_wait_s: float = 300.0
    """Longest wait for a premade volume; part of the time that a pool's VMs may take to boot."""
    force_delete_after: int = 0
    """Ordinary deletions of one server before `forceDelete` is used; 0 never forces."""
    unlock: bool = False
    """Whether a lock is taken off in order to delete; a lock may be somebody's wish to look at the server."""
    page_size: int = 0
    """Items per page of a list; the cloud's own limit when 0."""

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(self.deployment):
            raise ValueError(
                f"deployment {self.deployment!r} is no ownership mark; expected 1 to 100 of A-Z a-z 0-9 . _ -"
            )

    def machine_of(self, pool: str) -> Machine:
        """Return what that pool's servers are made of."""
        return self.pools.get(pool, self.machine)
