"""What both forges have in common, in memory: jobs, runners, and the pairing of the two."""

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from shadow_autoscaler.core.events import Event, JobSeen, Removal, RerunOutcome, RunCompleted, Runner
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.ports import Registration
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.faults import FaultPlan

QUEUE_LIMIT_S = 86_400.0
"""After a day in the queue a forge gives a job up."""


@dataclass(slots=True)
class Connection:
    """A runner process that is online."""

    runner: Runner
    labels: frozenset[str]
    ended: Callable[[bool], None]
    """Told when the process ends: True after a job, False when the forge turned it away."""
    job: JobKey | None = None


class FakeForge(ABC):
    """A `Forge` and the truth behind it."""

    kind: ForgeKind
    lost_s: float
    """How long the forge waits for a runner that fell silent in a job."""

    def __init__(
        self, clock: VirtualClock, faults: FaultPlan | None = None, prefix: str = "gpu", seed: int = 0
    ) -> None:
        self.clock, self.prefix = clock, prefix
        self.deliver: Callable[[Event], bool] = lambda _: True
        """Where webhooks go; False loses one until `redeliver`."""
        self.starts: Counter[JobKey] = Counter()
        """How often each job was started on a runner."""
        self.reruns: list[tuple[float, JobKey, int]] = []
        """Every re-run that was carried out: when, on behalf of which job, of which run."""
        self.minted: list[str] = []
        """Every runner name that was ever registered."""
        self._faults, self._random = faults or FaultPlan(), random.Random(seed)  # noqa: S311 (test data)
        self._jobs: dict[JobKey, JobFacts] = {}
        self._open: dict[JobKey, None] = {}
        self._seconds: dict[JobKey, float] = {}
        self._runs: dict[tuple[str, int], list[JobKey]] = {}
        self._failing: set[JobKey] = set()
        self._online: dict[str, Connection] = {}
        self._lost: list[tuple[float, Event]] = []
        self._shown: tuple[JobFacts, ...] = ()
        self._ids = 1000

    def job(self, key: JobKey) -> JobFacts | None:
        """Return the job as it is now."""
        with self._faults.call(f"{self.kind}.job", writes=False):
            return self._jobs.get(key)

    def jobs(self) -> tuple[JobFacts, ...]:
        """Return waiting and running jobs; a stale list shows what the former call showed."""
        with self._faults.call(f"{self.kind}.jobs", writes=False):
            if not self._faults.stale(f"{self.kind}.jobs"):
                self._shown = tuple(self._jobs[key] for key in self._open)
            return self._shown

    @abstractmethod
    def runners(self) -> tuple[Runner, ...]:
        """Return the registrations of this deployment."""

    @abstractmethod
    def register(self, pool: Pool, runner_name: str, key: JobKey | None) -> Registration:
        """Mint a configuration."""

    @abstractmethod
    def deregister(self, runner_name: str, runner_id: int | None, system_id: str = "") -> Removal:
        """Remove a registration, unless a job runs on it."""

    @abstractmethod
    def rerun(self, key: JobKey, run_id: int) -> RerunOutcome:
        """Run failed jobs again."""

    @abstractmethod
    def registrations(self) -> Mapping[str, Runner]:
        """Return all registrations as they really are, for a test to look at."""

    @abstractmethod
    def connect(self, config: Mapping[str, str], runner_name: str, ended: Callable[[bool], None]) -> None:
        """Bring a runner online with the configuration that a VM was given; `ended` is told its end."""

    @abstractmethod
    def _released(self, connection: Connection) -> None:
        """Make of a registration what becomes of it when its process has ended."""

    def redeliver(self, since: float) -> int:
        """Send lost webhooks again."""
        with self._faults.call(f"{self.kind}.redeliver"):
            again = [event for at, event in self._lost if at >= since]
            self._lost.clear()
            for event in again:
                self._emit(event)
            return len(again)

    def truth(self) -> Mapping[JobKey, JobFacts]:
        """Return all jobs as they really are, for a test to look at."""
        return self._jobs

    def submit(self, facts: JobFacts, seconds: float, *, fails: bool = False) -> JobKey:
        """Queue a job that will take so long, and fail at its end if so wanted."""
        key = facts.key
        self._jobs[key], self._seconds[key] = facts, seconds
        self._open[key] = None
        self._runs.setdefault((key.project, facts.run_id), []).append(key)
        if fails:
            self._failing.add(key)
        self.clock.after(QUEUE_LIMIT_S, lambda: self._give_up(key))
        self._emit(JobSeen(facts))
        self._assign()
        return key

    def new_key(self, project: str, attempt: int = 1) -> JobKey:
        """Return the identity of one more job."""
        self._ids += 1
        return JobKey(self.kind, project, self._ids, attempt)

    def cancel(self, key: JobKey) -> None:
        """Have a user cancel a job; a running one ends on its runner."""
        if self._jobs[key].status is not JobStatus.DONE:
            self._finish(key, "cancelled")

    def disconnect(self, runner_name: str) -> None:
        """Cut a runner off: its VM is gone. A job on it fails after a while."""
        connection = self._online.pop(runner_name, None)
        if connection is None:
            return
        if (key := connection.job) is not None:
            self.clock.after(self.lost_s, lambda: self._lose(key))
        self._released(connection)

    def busy(self, runner_name: str) -> JobKey | None:
        """Return the job that runs on a runner."""
        connection = self._online.get(runner_name)
        return connection.job if connection else None

    def _seen(self, runners: Iterable[Runner]) -> tuple[Runner, ...]:
        """Return the runners of this deployment with how they are now."""
        return tuple(
            replace(runner, online=runner.name in self._online, busy=self.busy(runner.name) is not None)
            for runner in runners
            if runner.name.startswith(self.prefix)
        )

    def _come_online(self, runner: Runner, labels: Iterable[str], ended: Callable[[bool], None]) -> None:
        self._online[runner.name] = Connection(runner, frozenset(map(str.lower, labels)), ended)
        self._assign()

    def _assign(self) -> None:
        idle = [connection for connection in self._online.values() if connection.job is None]
        if not idle:
            return
        for key in [key for key in self._open if self._jobs[key].status is JobStatus.QUEUED]:
            wanted = frozenset(map(str.lower, self._jobs[key].labels))
            fitting = [connection for connection in idle if wanted <= connection.labels]
            if fitting:
                connection = self._random.choice(fitting)
                idle.remove(connection)
                self._start(key, connection)

    def _start(self, key: JobKey, connection: Connection) -> None:
        runner = connection.runner
        connection.job = key
        self.starts[key] += 1
        self._change(
            key,
            status=JobStatus.RUNNING,
            started_at=self.clock.true,
            runner_id=runner.runner_id,
            runner_name=runner.name,
        )
        conclusion = "failure" if key in self._failing else "success"
        self.clock.after(self._seconds[key], lambda: self._end(key, connection, conclusion))

    def _end(self, key: JobKey, connection: Connection, conclusion: str) -> None:
        # A runner that was cut off does not get to tell how its job ended.
        if self._online.get(connection.runner.name) is connection and connection.job == key:
            self._finish(key, conclusion)

    def _finish(self, key: JobKey, conclusion: str, reason: str = "") -> None:
        self._open.pop(key, None)
        name = self._jobs[key].runner_name
        self._change(
            key,
            status=JobStatus.DONE,
            finished_at=self.clock.true,
            conclusion=conclusion,
            failure_reason=reason,
        )
        connection = self._online.get(name)
        if connection is not None and connection.job == key:
            del self._online[name]
            self._released(connection)
            connection.ended(True)
        self._complete_run(key)

    def _lose(self, key: JobKey) -> None:
        if self._jobs[key].status is JobStatus.RUNNING:
            self._finish(key, "failure", "runner_system_failure")

    def _give_up(self, key: JobKey) -> None:
        if self._jobs[key].status is JobStatus.QUEUED:
            self._finish(key, "cancelled", "stuck_or_timeout_failure")

    def _siblings(self, key: JobKey) -> list[JobFacts]:
        return [self._jobs[sibling] for sibling in self._runs[key.project, self._jobs[key].run_id]]

    def _complete_run(self, key: JobKey) -> None:
        jobs = self._siblings(key)
        if all(facts.status is JobStatus.DONE for facts in jobs):
            attempt = max(facts.key.attempt for facts in jobs)
            self._emit(RunCompleted(key, self._jobs[key].run_id, attempt))

    def _change(self, key: JobKey, **changes: object) -> None:
        self._jobs[key] = replace(self._jobs[key], **changes)  # type: ignore[arg-type]
        self._emit(JobSeen(self._jobs[key]))

    def _again(self, facts: JobFacts, attempt: int) -> None:
        # The same work once more; whether it fails by itself stays as it was.
        fails = facts.key in self._failing
        key = self.new_key(facts.key.project, attempt)
        queued = JobFacts(
            key,
            JobStatus.QUEUED,
            facts.name,
            facts.labels,
            facts.run_id,
            self.clock.true,
            ref=facts.ref,
            fork=facts.fork,
            protected=facts.protected,
        )
        self.submit(queued, self._seconds[facts.key], fails=fails)

    def _emit(self, event: Event) -> None:
        if not self.deliver(event):
            self._lost.append((self.clock.true, event))
