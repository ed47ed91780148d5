"""Pools: which jobs they serve, on what, how many, and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Market


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of a pool's flavor ladder."""

    flavor: str
    """Name of the flavor in the cloud."""
    market: Market
    eur_per_hour: float = 0.0
    vcpus: int = 0
    ram_mib: int = 0
    zones: tuple[str, ...] = ()
    """Availability zones to try in turn; the cloud's choice when empty."""


@dataclass(frozen=True, slots=True)
class IdleWindow:
    """A number of warm VMs at certain hours."""

    count: int
    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    """Weekdays, Monday is 0."""
    start: str = "00:00"
    """Local time, inclusive."""
    end: str = "24:00"
    """Local time, exclusive; a window may pass midnight."""
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Policy:
    """Whose jobs a pool runs. Patterns are shell globs, matched without regard to case."""

    repositories: tuple[str, ...] = ("*",)
    branches: tuple[str, ...] = ("*",)
    forks: bool = False
    """Whether code from forks may run on the pool's GPUs."""
    on_demand_branches: tuple[str, ...] = ()
    """Branches whose jobs never start on spot."""
    rerun: bool = True
    """Whether a reclaimed job is re-run."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A kind of runner: labels that it answers to, and the VMs that stand behind it."""

    name: str
    forge: ForgeKind
    labels: tuple[str, ...]
    """Every label a job may ask for; a job matches when it asks for a subset of these."""
    ladder: tuple[Rung, ...]
    """Rungs in the order in which they are tried."""
    max: int
    """Live VMs at most, those being built or deleted included."""
    idle: tuple[IdleWindow, ...] = ()
    runner_group: str = ""
    """GitHub runner group; the default group when empty."""
    priority: int = 0
    """Among pools that match a job the highest wins, then the one with fewest labels, then the name."""
    policy: Policy = field(default_factory=Policy)
    spot_up_to_s: float | None = None
    """Jobs known to take longer start on-demand."""
    boot_timeout_s: float = 900.0
    """From the create call to the request for a configuration."""
    pickup_timeout_s: float = 300.0
    """From hand-over to a job."""
    job_deadline_s: float = 21_600.0
    """Longest a job may run."""
    queue_deadline_s: float = 86_400.0
    """Longest a job may wait; the forges themselves fail it after 24 h."""
    max_lifetime_s: float = 86_400.0
    idle_timeout_s: float = 1_800.0
    """How long a warm VM beyond the wanted number is kept."""
    cooldown_s: float = 300.0
    """How long a rung is left out after a capacity error."""
    boot_tries: int = 3
    """VMs per job that may fail in boot before the job is left to wait."""
    reclaim_tries: int = 1
    """Automatic re-runs of a reclaimed job."""
    breaker_failures: int = 3
    """Failed boots in a row, whatever the job, after which the pool is held."""
    breaker_s: float = 1_800.0
    """How long it is held before one VM is tried again."""
    revision: str = ""
    """Digest of what the adapters know of the pool besides: image, network, user-data. A changed one mends a
    broken pool."""

    def patience_s(self, *, warm: bool) -> float:
        """Return how long a GitLab machine waits for a job before it ends by itself.

        One that was made for a job waits a little longer than we do, who can tell why nothing came.
        """
        return self.idle_timeout_s if warm else self.pickup_timeout_s + 15.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """Everything the core needs to know besides state, event and time."""

    deployment_id: str
    """Ownership mark: what does not carry it is never touched."""
    pools: tuple[Pool, ...]
    max_vms: int = 0
    """Live VMs over all pools at most; 0 leaves it to the quota."""
    name_prefix: str = "gpu"
    """Beginning of every VM's name."""
    sweep_grace_s: float = 180.0
    """Time between the two looks that a leftover must survive before it is removed."""
    spot_min_uptime_s: float = 1_800.0
    """Uptime that the cloud guarantees to spot: what vanishes earlier without a notice was not reclaimed."""
    spot_notice_s: float = 900.0
    """Time between a notice and the end, where the notice does not say when."""
    tombstone_s: float = 259_200.0
    """How long ended jobs and VMs are remembered: forges send deliveries again for three days."""
    job_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """Known durations by `project/job name`, for `spot_up_to_s`."""

    def pool(self, name: str) -> Pool | None:
        """Return the pool of that name."""
        return next((pool for pool in self.pools if pool.name == name), None)
