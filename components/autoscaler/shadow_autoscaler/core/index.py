"""Indexes over the state, kept up to date with each change, so that an event costs what it touches."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from shadow_autoscaler.core.jobs import ForgeKind, Job, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Vm

RunKey = tuple[ForgeKind, str, int]
"""Forge, project and workflow run or pipeline."""


def run_key(job: Job) -> RunKey:
    """Return the run that a job belongs to."""
    return job.key.forge, job.key.project, job.facts.run_id


def unserved(job: Job) -> bool:
    """Whether the job waits in a pool and no VM is meant for it."""
    return job.status is JobStatus.QUEUED and bool(job.pool) and not job.vm


def is_open(job: Job) -> bool:
    """Whether time alone can change something about the job."""
    return job.status is not JobStatus.DONE or job.reclaim is Reclaim.WAITS_FOR_RUN


def _flag(group: dict[str, dict[str, None]], pool: str, name: str, *, on: bool) -> None:
    if on:
        group.setdefault(pool, {})[name] = None
    elif pool in group:
        group[pool].pop(name, None)


@dataclass(slots=True)
class Index:
    """Keys of jobs and VMs by what is asked about them; dicts serve as ordered sets."""

    unserved: dict[str, dict[JobKey, None]] = field(default_factory=dict[str, dict[JobKey, None]])
    """By pool."""
    runs: dict[RunKey, dict[JobKey, None]] = field(default_factory=dict[RunKey, dict[JobKey, None]])
    open: dict[JobKey, None] = field(default_factory=dict[JobKey, None])
    ended: dict[JobKey, None] = field(default_factory=dict[JobKey, None])
    """Tombstones of jobs, oldest first."""
    live: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    """Names of live VMs by pool."""
    gone: dict[str, None] = field(default_factory=dict[str, None])
    """Tombstones of VMs, oldest first."""

    @classmethod
    def over(cls, jobs: Iterable[Job], vms: Iterable[Vm]) -> "Index":
        """Build the indexes of a loaded state."""
        index = cls()
        for job in sorted(jobs, key=lambda job: job.ended_at or 0.0):
            index.put_job(job)
        for vm in sorted(vms, key=lambda vm: vm.deleted_at or 0.0):
            index.put_vm(vm)
        return index

    def put_job(self, job: Job, old: Job | None = None) -> None:
        """Take a new or changed job in."""
        key = job.key
        if old is not None and old.pool != job.pool:
            self.unserved.get(old.pool, {}).pop(key, None)
        if unserved(job):
            self.unserved.setdefault(job.pool, {})[key] = None
        else:
            self.unserved.get(job.pool, {}).pop(key, None)
        if is_open(job):
            self.open[key] = None
        else:
            self.open.pop(key, None)
        if job.ended_at is not None:
            self.ended[key] = None
        self.runs.setdefault(run_key(job), {})[key] = None

    def drop_job(self, job: Job) -> None:
        """Forget a job."""
        self.unserved.get(job.pool, {}).pop(job.key, None)
        self.open.pop(job.key, None)
        self.ended.pop(job.key, None)
        run = self.runs.get(run_key(job), {})
        run.pop(job.key, None)
        if not run:
            self.runs.pop(run_key(job), None)

    def put_vm(self, vm: Vm) -> None:
        """Take a new or changed VM in."""
        _flag(self.live, vm.pool, vm.name, on=vm.live)
        if not vm.live:
            self.gone[vm.name] = None

    def drop_vm(self, vm: Vm) -> None:
        """Forget a VM."""
        _flag(self.live, vm.pool, vm.name, on=False)
        self.gone.pop(vm.name, None)
