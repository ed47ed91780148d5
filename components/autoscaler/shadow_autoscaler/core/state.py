"""The state that the core decides on, and the changes that a decision makes to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shadow_autoscaler.core.intents import Intent
from shadow_autoscaler.core.jobs import Job, JobKey
from shadow_autoscaler.core.machines import Vm
from shadow_autoscaler.core.quota import Quota


@dataclass(frozen=True, slots=True)
class PoolState:
    """What is known about a pool beyond its configuration."""

    name: str
    cooldowns: Mapping[str, float] = field(default_factory=dict[str, float])
    """Until when a rung is left out, by flavor, or `flavor@zone` where one zone alone is short."""
    paused_until: float = 0.0
    paused_reason: str = ""
    """Quota or throttling."""
    broken: str = ""
    """Configuration error that no retry mends; cleared when the configuration changes."""
    broken_config: str = ""
    """Digest of the pool's configuration that was found broken."""
    failures: int = 0
    """Failed boots in a row."""
    held_until: float = 0.0
    """Circuit breaker."""
    drained: bool = False


@dataclass(frozen=True, slots=True)
class Counters:
    """Numbers that never go back."""

    vms: int = 0
    """VMs named so far."""
    generation: str = ""
    """Set once per store, so that names stay unique after a lost store."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Something that looked left over once; the second look decides."""

    what: str
    """`leftover:<kind>:<id>`, `server:<id>` or `runner:<forge>:<id>`."""
    since: float


@dataclass(slots=True)
class State:
    """Everything held in memory; the store holds the same rows."""

    jobs: dict[JobKey, Job] = field(default_factory=dict[JobKey, Job])
    vms: dict[str, Vm] = field(default_factory=dict[str, Vm])
    pools: dict[str, PoolState] = field(default_factory=dict[str, PoolState])
    suspects: dict[str, Suspect] = field(default_factory=dict[str, Suspect])
    alarms: dict[str, float] = field(default_factory=dict[str, float])
    """Alarms that are up, by subject, and since when."""
    quota: Quota | None = None
    counters: Counters = field(default_factory=Counters)


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the audit trail."""

    subject: str
    """Job key, VM name or pool name."""
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What an event changes and what is to be done; applied and stored in one transaction."""

    jobs: tuple[Job, ...] = ()
    vms: tuple[Vm, ...] = ()
    pools: tuple[PoolState, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    cleared_suspects: tuple[str, ...] = ()
    alarms: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    """Alarms raised (time) and taken back (None)."""
    dropped_jobs: tuple[JobKey, ...] = ()
    dropped_vms: tuple[str, ...] = ()
    """Tombstones that are old enough to forget."""
    quota: Quota | None = None
    counters: Counters | None = None
    intents: tuple[Intent, ...] = ()
    notes: tuple[Note, ...] = ()
