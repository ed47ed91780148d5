"""The state that the core decides on, and the changes that a decision makes to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shadow_autoscaler.core.index import Index
from shadow_autoscaler.core.intents import Intent
from shadow_autoscaler.core.jobs import Job, JobKey
from shadow_autoscaler.core.ledger import Bill
from shadow_autoscaler.core.machines import Phase, Vm
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
    pauses: int = 0
    """Pauses in a row, for their length."""
    held_until: float = 0.0
    """Circuit breaker."""
    drained: bool = False
    months: Mapping[str, Bill] = field(default_factory=dict[str, Bill])
    """What its VMs that are gone have cost, by month, such as 2026-11."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Numbers that never go back."""

    vms: int = 0
    """VMs named so far."""
    generation: str = ""
    """Set once per store, so that names stay unique after a lost store."""
    resumed_at: float = 0.0
    """Since when somebody decides without a gap: the times that a VM has to be heard of begin anew then."""
    seen_at: float = 0.0
    """When somebody last decided, to the minute: time beyond it passed unseen."""
    seen_s: float = 0.0
    """Seconds in which somebody decided, up to `seen_at`. No clock that is set can change them."""
    jumped_s: float = 0.0
    """What `seen_s` was when time last made a jump that may be a wrong clock's."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Something that looked left over once; the second look decides."""

    what: str
    """`leftover:<kind>:<id>`, `server:<id>`, `runner:<forge>:<id>`, `busy:<vm>`, `orphan:<vm>`,
    `listed:<forge>`, or `over:<job>` for a job whose run has completed before its own end was told."""
    since: float


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
    prunes: bool = False
    """Whether the store may forget what is old: not soon after a jump of the clock, which may be wrong."""


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
    _index: Index | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def index(self) -> Index:
        """The indexes, built at first use; from then on only `apply` may change jobs and VMs."""
        if self._index is None:
            self._index = Index.over(self.jobs.values(), self.vms.values())
        return self._index

    def may_create(self, vm: str) -> bool:
        """Whether a create call for the VM may still leave; asked after `CreateSent` was handled."""
        known = self.vms.get(vm)
        return known is not None and known.phase is Phase.PLANNED

    def apply(self, decision: Decision) -> None:
        """Make a decision's changes."""
        self._apply_jobs(decision)
        self._apply_vms(decision)
        self.pools.update((pool.name, pool) for pool in decision.pools)
        self.suspects.update((suspect.what, suspect) for suspect in decision.suspects)
        for what in decision.cleared_suspects:
            self.suspects.pop(what, None)
        for subject, since in decision.alarms.items():
            if since is None:
                self.alarms.pop(subject, None)
            else:
                self.alarms[subject] = since
        self.quota = decision.quota or self.quota
        self.counters = decision.counters or self.counters

    def _apply_jobs(self, decision: Decision) -> None:
        index = self.index
        for job in decision.jobs:
            index.put_job(job, self.jobs.get(job.key))
            self.jobs[job.key] = job
        for key in decision.dropped_jobs:
            job_gone = self.jobs.pop(key, None)
            if job_gone is not None:
                index.drop_job(job_gone)

    def _apply_vms(self, decision: Decision) -> None:
        index = self.index
        for vm in decision.vms:
            index.put_vm(vm)
            self.vms[vm.name] = vm
        for name in decision.dropped_vms:
            vm_gone = self.vms.pop(name, None)
            if vm_gone is not None:
                index.drop_vm(vm_gone)
