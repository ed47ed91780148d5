"""Intents: what the core wants done outside. Each is written down before it is carried out.

Each is answered by an event, also when it fails; the core then decides whether and when to ask again. One
that has no failure event (`RemoveRunner`, `CheckJob`, `CheckServer`, `Rerun`) is tried again by the runtime.

| intent | answers |
|---|---|
| `CreateServer` | `CreateSent`, then `ServerCreated` or `CreateFailed` |
| `Register` | `Registered`, `RegisterFailed` |
| `Deregister` | `Deregistered`, `DeregisterFailed` |
| `DeleteServer` | `ServerGone` where a look after it gives 404, `DeleteFailed`; else nothing |
| `CheckServer` | `ServerGone`, or `ServersListed` with that one server and `complete=False` |
| `CheckJob` | `JobSeen` with `Source.POLL`, or `JobMissing` |
| `Rerun` | `RerunAnswered` |
| `RemoveLeftover` | `LeftoverRemoved` |
| `RemoveRunner`, `Alarm` | none |
"""

from dataclasses import dataclass

from shadow_autoscaler.core.jobs import ForgeKind, JobKey
from shadow_autoscaler.core.leftovers import Leftover


@dataclass(frozen=True, slots=True)
class CreateServer:
    """Ask the cloud for the VM's server; `again`: its outcome is unknown, so look for its mark first.

    A VM that `State.may_create` does not allow any more is only looked for, never created.
    """

    vm: str
    again: bool = False


@dataclass(frozen=True, slots=True)
class Register:
    """Mint a runner configuration for the VM that waits for it."""

    vm: str
    runner_name: str


@dataclass(frozen=True, slots=True)
class Deregister:
    """Remove the VM's registration, by ID where known, else by name."""

    vm: str
    runner_name: str
    runner_id: int | None


@dataclass(frozen=True, slots=True)
class RemoveRunner:
    """Remove a registration whose VM is gone or never was."""

    forge: ForgeKind
    runner_id: int
    runner_name: str
    system_id: str = ""


@dataclass(frozen=True, slots=True)
class DeleteServer:
    """Delete a server; `keep_console` saves its console log first."""

    vm: str
    server_id: str
    keep_console: bool = False


@dataclass(frozen=True, slots=True)
class CheckServer:
    """Ask the cloud about one server by its ID: only a 404 to this says that it is gone, no list does."""

    vm: str
    server_id: str


@dataclass(frozen=True, slots=True)
class CheckJob:
    """Ask the forge about one job."""

    key: JobKey


@dataclass(frozen=True, slots=True)
class Rerun:
    """Have the reclaimed jobs of a run run again, once."""

    key: JobKey
    """One of the run's reclaimed jobs."""
    run_id: int


@dataclass(frozen=True, slots=True)
class RemoveLeftover:
    """Remove a port, volume or floating IP that outlived its server."""

    leftover: Leftover


@dataclass(frozen=True, slots=True)
class Alarm:
    """Tell the operator, once per cause."""

    subject: str
    text: str


Intent = (
    CreateServer
    | Register
    | Deregister
    | RemoveRunner
    | DeleteServer
    | CheckServer
    | CheckJob
    | Rerun
    | RemoveLeftover
    | Alarm
)
"""Any intent."""
