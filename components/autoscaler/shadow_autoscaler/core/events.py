"""Events: everything that can make the core decide anew."""

from dataclasses import dataclass
from enum import StrEnum

from shadow_autoscaler.core.faults import Failure
from shadow_autoscaler.core.intents import Intent
from shadow_autoscaler.core.jobs import JobFacts, JobKey
from shadow_autoscaler.core.leftovers import Leftover
from shadow_autoscaler.core.machines import Server
from shadow_autoscaler.core.quota import Quota


class Source(StrEnum):
    """How we came to know."""

    WEBHOOK = "webhook"
    POLL = "poll"


@dataclass(frozen=True, slots=True)
class JobSeen:
    """The forge tells of a job."""

    facts: JobFacts
    source: Source = Source.WEBHOOK


@dataclass(frozen=True, slots=True)
class JobMissing:
    """The forge does not know the job any more (404)."""

    key: JobKey


@dataclass(frozen=True, slots=True)
class RunCompleted:
    """A GitHub workflow run or GitLab pipeline has ended: reclaimed jobs in it may be re-run."""

    key: JobKey
    """Forge and project; the job ID is not looked at."""
    run_id: int
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class JobsListed:
    """All waiting and running jobs of the watched projects; incomplete lists prove no absence."""

    jobs: tuple[JobFacts, ...]
    complete: bool
    forge: str = ""
    """Whose list it is; without it an empty list says nothing."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A registration at a forge whose name begins with our prefix."""

    runner_id: int
    name: str
    online: bool
    busy: bool
    system_id: str = ""
    """GitLab: the manager's own ID."""


@dataclass(frozen=True, slots=True)
class RunnersListed:
    """All registrations of ours at one forge."""

    forge: str
    runners: tuple[Runner, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class ServersListed:
    """All servers with our mark. An incomplete or failed list never means that something is gone."""

    servers: tuple[Server, ...]
    complete: bool
    asked_at: float
    """When the list was asked for: what was created after it can be missing."""


@dataclass(frozen=True, slots=True)
class LeftoversListed:
    """Ports, volumes and floating IPs with our mark."""

    leftovers: tuple[Leftover, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class QuotaRead:
    """The project's limits and use."""

    quota: Quota


@dataclass(frozen=True, slots=True)
class CreateSent:
    """The create call of a VM leaves this process now, unless `State.may_create` says no after this event."""

    vm: str


@dataclass(frozen=True, slots=True)
class ServerCreated:
    """Nova took the create call, or the server was found again by its mark."""

    vm: str
    server: Server


@dataclass(frozen=True, slots=True)
class CreateFailed:
    """The create call failed, and no server with the VM's mark exists."""

    vm: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class ServerGone:
    """The cloud answers 404 for the VM's server."""

    vm: str
    server_id: str = ""
    """Which server is gone: it may be one too many, whose deletion says nothing about the VM's own."""


@dataclass(frozen=True, slots=True)
class DeleteFailed:
    """The delete call failed; it is tried again."""

    vm: str
    failure: Failure
    server_id: str = ""
    """Which server is still there."""


@dataclass(frozen=True, slots=True)
class VmReported:
    """A VM's boot script tells how far it is."""

    vm: str
    phase: str
    """Boot phase, such as `gpu_host`; `healthy` when the gate has passed; `ended` after the job."""
    status: str
    """ok, wait or failed."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ConfigAsked:
    """A VM with a good GPU asks for its runner configuration."""

    vm: str


@dataclass(frozen=True, slots=True)
class Registered:
    """The forge made a registration and the configuration goes to the VM now."""

    vm: str
    runner_id: int | None
    runner_name: str


@dataclass(frozen=True, slots=True)
class RegisterFailed:
    """The forge made no registration, as far as we know."""

    vm: str
    failure: Failure


class Removal(StrEnum):
    """What the forge says to the removal of a registration."""

    GONE = "gone"
    """Removed now or before."""
    BUSY = "busy"
    """A job runs on it: the VM stays."""


@dataclass(frozen=True, slots=True)
class Deregistered:
    """The forge answered the removal of a VM's registration."""

    vm: str
    outcome: Removal


@dataclass(frozen=True, slots=True)
class DeregisterFailed:
    """The removal failed; it is tried again."""

    vm: str
    failure: Failure


@dataclass(frozen=True, slots=True)
class ReclaimNoticed:
    """The metadata service inside a spot VM says when it will be taken."""

    vm: str
    at: float | None
    """When; None where the notice has no time."""


class RerunOutcome(StrEnum):
    """What the forge says to a re-run."""

    DONE = "done"
    NOT_YET = "not-yet"
    """The run is still in progress."""
    REFUSED = "refused"
    """403, 404 or past the time: it will never work."""


@dataclass(frozen=True, slots=True)
class RerunAnswered:
    """The forge answered a re-run."""

    key: JobKey
    outcome: RerunOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LeftoverRemoved:
    """A leftover is gone, or its removal failed with a text."""

    leftover: Leftover
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Drained:
    """An operator takes a pool or a VM out of use: no new jobs, idle VMs go, busy ones finish."""

    pool: str = ""
    vm: str = ""
    on: bool = True
    """False takes a pool's drain back."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """This process decides from now on. What VMs said while none did was not heard."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """State and outbox were read from the store, of which rows may have been set aside."""

    intents: tuple[Intent, ...]
    """What waits in the outbox."""


@dataclass(frozen=True, slots=True)
class ClockStepped:
    """The clock by which events are timed was set by so many seconds; no time has passed."""

    by: float


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: time-outs, windows, cool-downs, overdue checks."""


Event = (
    JobSeen
    | JobMissing
    | RunCompleted
    | JobsListed
    | RunnersListed
    | ServersListed
    | LeftoversListed
    | QuotaRead
    | CreateSent
    | ServerCreated
    | CreateFailed
    | ServerGone
    | DeleteFailed
    | VmReported
    | ConfigAsked
    | Registered
    | RegisterFailed
    | Deregistered
    | DeregisterFailed
    | ReclaimNoticed
    | RerunAnswered
    | LeftoverRemoved
    | Drained
    | Resumed
    | Loaded
    | ClockStepped
    | Tick
)
"""Any event."""
