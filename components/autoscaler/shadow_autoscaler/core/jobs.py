"""CI jobs: what a forge says about one, and what we made of it."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class ForgeKind(StrEnum):
    """Where a job comes from."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True, order=True)
class JobKey:
    """A job's identity: forge, job ID and attempt."""

    forge: ForgeKind
    project: str
    """`owner/name` at GitHub, the full path at GitLab."""
    job_id: int
    attempt: int = 1

    def __str__(self) -> str:
        return f"{self.forge}:{self.project}:{self.job_id}:{self.attempt}"

    @classmethod
    def parse(cls, text: str) -> "JobKey":
        """Read the form that `str` writes; `ValueError` where it is another one."""
        forge, project, job_id, attempt = text.split(":")
        return cls(ForgeKind(forge), project, int(job_id), int(attempt))


class JobStatus(IntEnum):
    """How far a job is; it only ever moves up."""

    WAITING = 0
    """Held back by the forge itself: an approval, a manual step, a resource group."""
    QUEUED = 1
    """Waits for a runner."""
    RUNNING = 2
    DONE = 3


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What a forge says about a job at one moment, in the words of neither forge."""

    key: JobKey
    status: JobStatus
    name: str
    labels: tuple[str, ...]
    """GitHub `runs-on` labels or GitLab tags, as the forge gives them."""
    run_id: int
    """GitHub workflow run, GitLab pipeline."""
    queued_at: float
    """Seconds since the epoch, UTC; so are all times."""
    started_at: float | None = None
    finished_at: float | None = None
    conclusion: str = ""
    """The forge's own word: success, failure, cancelled, …"""
    failure_reason: str = ""
    """GitLab's `failure_reason`."""
    runner_id: int | None = None
    runner_name: str = ""
    ref: str = ""
    """Branch or tag name."""
    fork: bool = False
    """Whether the code comes from a fork; unknown counts as no, and `known_origin` says so."""
    known_origin: bool = True
    protected: bool = False
    """GitLab: whether the ref is protected."""
    url: str = ""
    installation_id: int | None = None
    """GitHub App installation that sees the job."""
    partial: bool = False
    """GitLab's hooks name neither a job's tags nor the machine that runs it: `labels` and `runner_name` mean
    nothing here, and the forge is to be asked (`CheckJob`) before a decision rests on them."""


class Reclaim(StrEnum):
    """What became of a job whose spot VM was taken."""

    NONE = ""
    WAITS_FOR_RUN = "waits-for-run"
    """The forge refuses a re-run until the whole run has completed."""
    RERUN = "rerun"
    GIVEN_UP = "given-up"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the autoscaler holds it: the forge's facts and its own handling."""

    facts: JobFacts
    seen_at: float
    """When we first heard of it."""
    pool: str = ""
    """Name of the pool that serves it; empty when none matches or policy forbids."""
    vm: str = ""
    """Name of the VM that is meant for it or runs it."""
    tries: int = 0
    """VMs asked for so far."""
    failures: int = 0
    """VMs meant for it that failed in boot; reclaims and lack of capacity do not count."""
    not_before: float = 0.0
    """No VM is asked for before: too many have failed for it."""
    reclaims: int = 0
    """Spot reclaims so far, former attempts of the same job included."""
    on_demand_only: bool = False
    reclaim: Reclaim = Reclaim.NONE
    checked_at: float = 0.0
    """When the forge was last asked about it."""
    confirmed_at: float = 0.0
    """When the forge last said that it still waits, after more than the pool's queue deadline."""
    ended_at: float | None = None
    """When we learned that it is done; the row stays as a tombstone."""
    reason: str = ""
    """Why it waits or was refused, as one sentence; empty when nothing holds it."""

    @property
    def key(self) -> JobKey:
        """The job's identity."""
        return self.facts.key

    @property
    def status(self) -> JobStatus:
        """How far it is."""
        return self.facts.status
