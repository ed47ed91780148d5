"""VMs: what the cloud says about a server, and what we made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from shadow_autoscaler.core.faults import Failure
from shadow_autoscaler.core.jobs import JobKey


class Market(StrEnum):
    """What is bought."""

    SPOT = "spot"
    ON_DEMAND = "on-demand"


class ServerStatus(StrEnum):
    """Nova's statuses folded to what matters; every status of Nova maps to one."""

    BUILDING = "building"
    """BUILD, REBUILD, RESIZE and kin."""
    ACTIVE = "active"
    ERROR = "error"
    STOPPED = "stopped"
    """SHUTOFF, PAUSED, SUSPENDED, SHELVED…, RESCUE, EXPIRED: runs no job and most go on costing."""
    DELETING = "deleting"
    """Task state `deleting`, or DELETED, SOFT_DELETED."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Server:
    """A server with our mark, as the cloud shows it."""

    server_id: str
    name: str
    status: ServerStatus
    raw_status: str
    created_at: float
    marks: Mapping[str, str] = field(default_factory=dict[str, str])
    """Our metadata: `vm`, `pool`, `job`, with the common prefix taken off."""
    fault: str = ""
    """Nova's fault text of an ERROR server."""
    fault_code: int | None = None
    failure: Failure | None = None
    """The fault as the cloud's adapter classifies it; None where the server is not in ERROR."""
    addresses: tuple[str, ...] = ()
    host: str = ""
    """Opaque `hostId`."""
    zone: str = ""
    flavor: str = ""


class Phase(IntEnum):
    """How far a VM is; it only ever moves up."""

    PLANNED = 0
    """The create call is in the outbox, or was sent without an answer yet."""
    BUILDING = 1
    """Nova took it (202); it has an ID."""
    BOOTING = 2
    """ACTIVE; boot script and GPU gate at work."""
    REGISTERING = 3
    """It asked for its runner configuration."""
    READY = 4
    """The configuration was handed over; the runner comes online or is idle."""
    BUSY = 5
    """A job runs on it."""
    CLOSING = 6
    """Its registration is being removed; if the forge says busy it goes on until it isn't."""
    DELETING = 7
    """The delete call is in the outbox or sent."""
    GONE = 8
    """The cloud says 404; the row stays as a tombstone."""


class Cause(StrEnum):
    """Why a VM ended."""

    NONE = ""
    JOB_DONE = "job-done"
    JOB_GONE = "job-gone"
    """Cancelled, taken by another runner or unknown to the forge, before this VM got it."""
    SPOT_CAPACITY = "spot-capacity"
    CAPACITY = "capacity"
    QUOTA = "quota"
    CONFIG = "config"
    BOOT_TIMEOUT = "boot-timeout"
    BOOT_FAILED = "boot-failed"
    GPU_UNHEALTHY = "gpu-unhealthy"
    REGISTRATION = "registration"
    """The forge gave it no configuration."""
    PICKUP_TIMEOUT = "pickup-timeout"
    RECLAIMED = "reclaimed"
    VANISHED = "vanished"
    """Gone, stopped or in ERROR without a notice and without being spot."""
    LIFETIME = "lifetime"
    JOB_DEADLINE = "job-deadline"
    IDLE = "idle"
    DRAINED = "drained"


@dataclass(frozen=True, slots=True)
class Vm:
    """A VM of ours, from the decision to create it to the proof that it is gone."""

    name: str
    """Unique for ever in this deployment; the server's name and the stem of its runner names."""
    pool: str
    rung: int
    """Index in the pool's ladder."""
    flavor: str
    market: Market
    phase: Phase
    planned_at: float
    job: JobKey | None = None
    """The job it is meant for, then the one it runs; None for a warm VM."""
    zone: str = ""
    server_id: str = ""
    host: str = ""
    addresses: tuple[str, ...] = ()
    sent_at: float | None = None
    """When the create call was sent."""
    created_at: float | None = None
    """When Nova took it."""
    active_at: float | None = None
    healthy_at: float | None = None
    """When its GPU gate passed."""
    ready_at: float | None = None
    """When its configuration was handed over."""
    busy_at: float | None = None
    busy_seen_s: float = 0.0
    """What `Counters.seen_s` was then: its job's deadline counts from there, whatever clocks do."""
    ended_at: float | None = None
    """When its last job ended or it was given up."""
    deleted_at: float | None = None
    """When the cloud said 404."""
    runner_id: int | None = None
    runner_name: str = ""
    registrations: int = 0
    """Configurations minted; the runner's name carries the number, so that no name is used twice."""
    reclaim_at: float | None = None
    """When the cloud will take the VM, by our clock."""
    cause: Cause = Cause.NONE
    detail: str = ""
    """What the cloud, the boot script or the forge said."""
    eur_per_hour: float = 0.0
    deletes: int = 0
    """Delete calls sent."""
    creates: int = 0
    """Create calls that failed without an outcome or with one that asks for another try."""
    removals: int = 0
    """Removals of its registration that did not succeed."""
    asked_at: float | None = None
    """When it asked for a configuration that it has not got yet."""
    runner_ended_at: float | None = None
    """When its boot script said that the runner has ended."""
    complaints: tuple[str, ...] = ()
    """Phases whose failure it reported."""
    retry_at: float | None = None
    """When the call that its phase waits for is sent again."""

    @property
    def live(self) -> bool:
        """Whether it may cost money or hold quota."""
        return self.phase < Phase.GONE
