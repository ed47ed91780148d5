"""The ports: what the autoscaler needs from the world, in at most eight verbs each.

Calls are synchronous and may be made from several threads. They fail with `PortError`, whose `failure` says
what to do about it, and with nothing else; every network call has a time-out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shadow_autoscaler.core.events import Removal, RerunOutcome, Runner
from shadow_autoscaler.core.intents import Intent
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey
from shadow_autoscaler.core.leftovers import Leftover
from shadow_autoscaler.core.machines import Server
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import Decision, State


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """What to create. `marks` go into the create call itself."""

    name: str
    flavor: str
    marks: Mapping[str, str]
    """`vm`, `pool`, `job`; the adapter adds the deployment and the common prefix."""
    user_data: str
    """Plain text; the adapter encodes it."""
    zone: str = ""
    pool: str = ""
    """Name of the pool, whose image, volume, network and groups the adapter knows."""


class Cloud(Protocol):
    """The OpenStack project. Only what carries this deployment's mark is ever returned or touched."""

    def create(self, spec: ServerSpec) -> Server:
        """Send the create call, once, without a retry of its own."""
        ...

    def servers(self, vm: str = "") -> tuple[Server, ...]:
        """Return every server of ours, or those of one VM; raises rather than give half a list."""
        ...

    def server(self, server_id: str) -> Server | None:
        """Return the server; None when the cloud says 404. CONFLICT for one that is not ours (any more)."""
        ...

    def delete(self, server_id: str) -> None:
        """Ask for the deletion of a server of ours; a missing one is no error."""
        ...

    def console(self, server_id: str) -> str:
        """Return the end of the server's console log, at most 64 KiB."""
        ...

    def quota(self) -> Quota:
        """Return the room that is left in the project."""
        ...

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return ports, volumes and floating IPs of ours that no server uses."""
        ...

    def remove(self, leftover: Leftover) -> None:
        """Remove one; a missing one is no error."""
        ...


@dataclass(frozen=True, slots=True)
class Registration:
    """A runner configuration, to be handed to one VM once."""

    runner_id: int | None
    """GitHub's runner ID; None at GitLab, where one runner has many managers."""
    runner_name: str
    config: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])
    """What the VM needs: `kind` (github or gitlab) and `jit_config`, or `url`, `token`, `wait_timeout_s` and
    `system_id`, which goes into `.runner_system_id` beside GitLab Runner's configuration before it starts."""


class Forge(Protocol):
    """GitHub or GitLab, for the jobs and runners of this deployment."""

    kind: ForgeKind

    def job(self, key: JobKey) -> JobFacts | None:
        """Return the job as it is now; None when the forge says 404."""
        ...

    def jobs(self) -> tuple[JobFacts, ...]:
        """Return waiting and running jobs of the watched projects; raises rather than give half a list."""
        ...

    def runners(self) -> tuple[Runner, ...]:
        """Return the registrations whose names begin with this deployment's prefix."""
        ...

    def register(self, pool: Pool, runner_name: str, key: JobKey | None) -> Registration:
        """Mint a configuration. A name that exists is a CONFLICT failure, an empty answer a TRANSIENT one."""
        ...

    def deregister(self, runner_name: str, runner_id: int | None, system_id: str = "") -> Removal:
        """Remove a registration, by ID where given, else by name."""
        ...

    def rerun(self, key: JobKey, run_id: int) -> RerunOutcome:
        """Run the failed jobs of that run (GitHub) or that job (GitLab) again."""
        ...

    def redeliver(self, since: float) -> int:
        """Ask for failed webhook deliveries since then to be sent again; return how many."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """A verified webhook or callback as it came in."""

    delivery_id: str
    """The forge's GUID, or one that identifies the callback; the key of deduplication."""
    kind: str
    """`github`, `gitlab`, `vm` or `operator`."""
    event: str
    """Header `X-GitHub-Event`, `X-Gitlab-Event`, or the callback's name."""
    body: bytes
    received_at: float


@dataclass(frozen=True, slots=True)
class Outgoing:
    """An intent in the outbox."""

    number: int
    intent: Intent
    due_at: float
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One line of the audit trail."""

    at: float
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction: a decision, what caused it, and what becomes of the outbox."""

    decision: Decision
    at: float
    delivery_id: str = ""
    """Inbox row that this handles; marked as handled."""
    finished: Sequence[int] = ()
    """Outbox rows that are done."""
    postponed: Mapping[int, float] = field(default_factory=dict[int, float])
    """Outbox rows to be tried again, and when."""


class LeaseLostError(Exception):
    """Another process holds the lease; nothing was written."""


class Store(Protocol):
    """Inbox, state, outbox, audit trail and lease, all durable before a call returns."""

    def accept(self, deliveries: Sequence[Delivery]) -> Sequence[bool]:
        """Write deliveries to the inbox; False for one handled before, True for one still unhandled."""
        ...

    def inbox(self, limit: int = 100) -> Sequence[Delivery]:
        """Return unhandled deliveries, oldest first."""
        ...

    def reject(self, delivery_id: str, reason: str) -> None:
        """Set a delivery that cannot be understood aside, with the reason."""
        ...

    def load(self) -> State:
        """Return the whole state."""
        ...

    def commit(self, commit: Commit) -> Sequence[Outgoing]:
        """Write a transaction; return its intents as outbox rows. `LeaseLostError` when not the holder."""
        ...

    def outbox(self) -> Sequence[Outgoing]:
        """Return every unfinished intent."""
        ...

    def lease(self, owner: str, seconds: float, now: float) -> bool:
        """Take or renew the lease; False when another owner holds it. An empty `owner`'s lease is free."""
        ...

    def audit(self, subject: str = "", limit: int = 100) -> Sequence[AuditLine]:
        """Return the newest lines, newest first."""
        ...


class Queue(Protocol):
    """Between the webhook function and the worker where they are separate processes."""

    def put(self, delivery: Delivery) -> None:
        """Hand over a delivery durably."""
        ...

    def take(self, limit: int = 10) -> Sequence[tuple[str, Delivery]]:
        """Return receipts and deliveries."""
        ...

    def done(self, receipt: str) -> None:
        """Forget one that is handled."""
        ...


class Secrets(Protocol):
    """Where secrets come from; read anew at each use, so that a rotation needs no restart."""

    def get(self, name: str) -> tuple[str, ...]:
        """Return the current value and, in a rotation, the former one; `PortError` (CONFIG) when missing."""
        ...
