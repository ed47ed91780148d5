"""A decision in the making: the state with the changes so far laid over it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from shadow_autoscaler.core.index import RunKey, run_key, unserved
from shadow_autoscaler.core.intents import Alarm, Intent
from shadow_autoscaler.core.jobs import Job, JobKey
from shadow_autoscaler.core.machines import Vm
from shadow_autoscaler.core.pools import Deployment, Pool
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import Counters, Decision, Note, PoolState, State, Suspect


@dataclass(slots=True)
class Draft:
    """Reads through to the state, which it never changes; `decision` gives what came of it."""

    state: State
    now: float
    deployment: Deployment
    jobs: dict[JobKey, Job] = field(default_factory=dict[JobKey, Job])
    vms: dict[str, Vm] = field(default_factory=dict[str, Vm])
    pools: dict[str, PoolState] = field(default_factory=dict[str, PoolState])
    suspects: dict[str, Suspect | None] = field(default_factory=dict[str, Suspect | None])
    alarms: dict[str, float | None] = field(default_factory=dict[str, float | None])
    released: dict[str, None] = field(default_factory=dict[str, None])
    """VMs that lost their job in this decision."""
    dropped_jobs: list[JobKey] = field(default_factory=list[JobKey])
    dropped_vms: list[str] = field(default_factory=list[str])
    quota: Quota | None = None
    counters: Counters | None = None
    intents: dict[Intent, None] = field(default_factory=dict[Intent, None])
    notes: list[Note] = field(default_factory=list[Note])
    prunes: bool = False
    _pools_by_name: dict[str, Pool] = field(default_factory=dict[str, Pool])

    @property
    def known_counters(self) -> Counters:
        """The counters as they are by now."""
        return self.counters or self.state.counters

    @property
    def seen_s(self) -> float:
        """Seconds in which somebody decided, by now."""
        counters = self.known_counters
        return counters.seen_s + max(0.0, self.now - counters.seen_at)

    def job(self, key: JobKey | None) -> Job | None:
        """Return the job as it is by now."""
        if key is None:
            return None
        return self.jobs.get(key) or self.state.jobs.get(key)

    def vm(self, name: str) -> Vm | None:
        """Return the VM as it is by now."""
        return self.vms.get(name) or self.state.vms.get(name)

    def pool_state(self, name: str) -> PoolState:
        """Return what is known about the pool by now."""
        return self.pools.get(name) or self.state.pools.get(name) or PoolState(name)

    def pool_of(self, thing: Job | Vm) -> Pool | None:
        """Return the pool of a job or VM; None where the configuration has it no more."""
        if not self._pools_by_name:
            self._pools_by_name = {pool.name: pool for pool in self.deployment.pools}
        return self._pools_by_name.get(thing.pool)

    def put_job(self, job: Job) -> Job:
        """Take a new or changed job in."""
        self.jobs[job.key] = job
        return job

    def put_vm(self, vm: Vm) -> Vm:
        """Take a new or changed VM in."""
        self.vms[vm.name] = vm
        return vm

    def put_pool(self, pool: PoolState) -> PoolState:
        """Take a changed pool in."""
        self.pools[pool.name] = pool
        return pool

    def emit(self, intent: Intent) -> None:
        """Have something done, once."""
        self.intents[intent] = None

    def note(self, subject: object, text: str) -> None:
        """Add a line to the audit trail."""
        self.notes.append(Note(str(subject), text))

    def alarm(self, subject: str, text: str) -> None:
        """Raise an alarm unless it is up."""
        if self._alarm_since(subject) is None:
            self.alarms[subject] = self.now
            self.emit(Alarm(subject, text))
            self.note(subject, f"alarm: {text}")

    def calm(self, subject: str) -> None:
        """Take an alarm back."""
        if self._alarm_since(subject) is not None:
            self.alarms[subject] = None
            self.note(subject, "alarm is over")

    def _alarm_since(self, subject: str) -> float | None:
        if subject in self.alarms:
            return self.alarms[subject]
        return self.state.alarms.get(subject)

    def suspect(self, what: str) -> Suspect | None:
        """Return what looked left over before."""
        if what in self.suspects:
            return self.suspects[what]
        return self.state.suspects.get(what)

    def unserved(self, pool: str) -> Iterator[Job]:
        """Yield the pool's waiting jobs for which no VM is meant."""
        for key in self.state.index.unserved.get(pool, ()):
            if key not in self.jobs:
                yield self.state.jobs[key]
        for job in tuple(self.jobs.values()):
            if job.pool == pool and unserved(job):
                yield job

    def run_jobs(self, run: RunKey) -> Iterator[Job]:
        """Yield all known jobs of a run, tombstones included."""
        for key in self.state.index.runs.get(run, ()):
            if key not in self.jobs:
                yield self.state.jobs[key]
        for job in tuple(self.jobs.values()):
            if run_key(job) == run:
                yield job

    def live(self, pool: str) -> Iterator[Vm]:
        """Yield the pool's live VMs."""
        for name in self.state.index.live.get(pool, ()):
            if name not in self.vms:
                yield self.state.vms[name]
        for vm in tuple(self.vms.values()):
            if vm.pool == pool and vm.live:
                yield vm

    def live_count(self, pool: str) -> int:
        """Return how many live VMs the pool has."""
        old = self.state.index.live.get(pool, {})
        changed = sum(vm.live - (vm.name in old) for vm in self.vms.values() if vm.pool == pool)
        return len(old) + changed

    def all_live(self) -> Iterator[Vm]:
        """Yield every live VM, those of pools that the configuration has no more included."""
        for pool in self.live_pools():
            yield from self.live(pool)

    def live_pools(self) -> tuple[str, ...]:
        """Return the names of pools that may have live VMs."""
        return tuple({**self.state.index.live, **{vm.pool: {} for vm in self.vms.values()}})

    def open_jobs(self) -> Iterator[Job]:
        """Yield jobs that time alone can change, as they were before this event."""
        for key in self.state.index.open:
            yield self.jobs.get(key) or self.state.jobs[key]

    def next_number(self) -> Counters:
        """Count one more VM name."""
        counters = self.known_counters
        self.counters = replace(counters, vms=counters.vms + 1)
        return self.counters

    def decision(self) -> Decision:
        """Return what is to be changed and done; rows that are as before are left out."""
        old = self.state
        return Decision(
            jobs=tuple(job for job in self.jobs.values() if old.jobs.get(job.key) != job),
            vms=tuple(vm for vm in self.vms.values() if old.vms.get(vm.name) != vm),
            pools=tuple(pool for pool in self.pools.values() if old.pools.get(pool.name) != pool),
            suspects=tuple(
                one for one in self.suspects.values() if one and old.suspects.get(one.what) != one
            ),
            cleared_suspects=tuple(
                what for what, one in self.suspects.items() if one is None and what in old.suspects
            ),
            alarms={subject: at for subject, at in self.alarms.items() if old.alarms.get(subject) != at},
            dropped_jobs=tuple(self.dropped_jobs),
            dropped_vms=tuple(self.dropped_vms),
            quota=self.quota,
            counters=self.counters,
            intents=tuple(self.intents),
            notes=tuple(self.notes),
            prunes=self.prunes,
        )
