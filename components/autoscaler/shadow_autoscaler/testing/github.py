"""A forge in memory that behaves like GitHub: JIT configurations, single-use runners, re-runs of runs."""

from collections.abc import Callable, Mapping

from shadow_autoscaler.core.events import Removal, RerunOutcome, Runner
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.ports import Registration
from shadow_autoscaler.testing.forge import Connection, FakeForge

OFFLINE_LIMIT_S = 86_400.0
"""A single-use runner that is offline for a day is removed."""


class FakeGitHub(FakeForge):
    """GitHub's ways: a registration exists from its minting until its one job has ended."""

    kind = ForgeKind.GITHUB
    lost_s = 600.0

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._registered: dict[str, Runner] = {}
        self._labels: dict[str, tuple[str, ...]] = {}
        self._used: set[str] = set()

    def runners(self) -> tuple[Runner, ...]:
        """Return registrations, online or not."""
        with self._faults.call("github.runners", writes=False):
            return self._seen(self._registered.values())

    def register(self, pool: Pool, runner_name: str, key: JobKey | None) -> Registration:  # noqa: ARG002
        """Mint a JIT configuration; the runner is registered from now on."""
        with self._faults.call("github.register"):
            if runner_name in self._registered:
                text = f"409 Already exists - A runner with the name {runner_name} already exists"
                raise PortError(Failure(FailureKind.CONFLICT, text))
            self._ids += 1
            runner = Runner(self._ids, runner_name, online=False, busy=False)
            self._registered[runner_name], self._labels[runner_name] = runner, pool.labels
            self.minted.append(runner_name)
            self.clock.after(OFFLINE_LIMIT_S, lambda: self._expire(runner))
            return Registration(self._ids, runner_name, {"kind": "github", "jit_config": f"jit-{self._ids}"})

    def deregister(self, runner_name: str, runner_id: int | None, system_id: str = "") -> Removal:  # noqa: ARG002
        """Remove a registration; a busy one stays."""
        with self._faults.call("github.deregister"):
            found = [
                r
                for r in self._registered.values()
                if (r.runner_id == runner_id if runner_id is not None else r.name == runner_name)
            ]
            if any(self.busy(runner.name) for runner in found):
                return Removal.BUSY
            for runner in found:
                self._remove(runner)
            return Removal.GONE

    def rerun(self, key: JobKey, run_id: int) -> RerunOutcome:
        """Run a completed run's failed jobs again."""
        with self._faults.call("github.rerun"):
            jobs = self._siblings(key)
            if any(facts.status is not JobStatus.DONE for facts in jobs):
                return RerunOutcome.NOT_YET
            failed = _failed(jobs)
            if not failed:
                return RerunOutcome.REFUSED
            self.reruns.append((self.clock.true, key, run_id))
            attempt = max(facts.key.attempt for facts in jobs) + 1
            for facts in failed:
                self._again(facts, attempt)
            return RerunOutcome.DONE

    def connect(self, config: Mapping[str, str], runner_name: str, ended: Callable[[bool], None]) -> None:
        """Bring a runner online, once per registration."""
        runner = self._registered.get(runner_name)
        if (
            runner is None
            or runner_name in self._used
            or config.get("jit_config") != f"jit-{runner.runner_id}"
        ):
            ended(False)
            return
        self._used.add(runner_name)
        self._come_online(runner, self._labels[runner_name], ended)

    def registrations(self) -> Mapping[str, Runner]:
        """Return all registrations as they really are, for a test to look at."""
        return self._registered

    def _released(self, connection: Connection) -> None:
        # After its job the service removes the registration itself; one that was cut off stays for a day.
        job = connection.job
        if job is not None and self._jobs[job].status is JobStatus.DONE:
            self._registered.pop(connection.runner.name, None)
        else:
            self.clock.after(OFFLINE_LIMIT_S, lambda: self._expire(connection.runner))

    def _lose(self, key: JobKey) -> None:
        super()._lose(key)
        self._registered.pop(self._jobs[key].runner_name, None)

    def _remove(self, runner: Runner) -> None:
        self._registered.pop(runner.name, None)
        if connection := self._online.pop(runner.name, None):
            connection.ended(False)

    def _expire(self, runner: Runner) -> None:
        if self._registered.get(runner.name) == runner and runner.name not in self._online:
            del self._registered[runner.name]


def _failed(jobs: list[JobFacts]) -> list[JobFacts]:
    """Return the failed jobs of the last attempt of each job name."""
    last: dict[str, JobFacts] = {}
    for facts in sorted(jobs, key=lambda facts: facts.key.attempt):
        last[facts.name] = facts
    return [facts for facts in last.values() if facts.conclusion in {"failure", "cancelled", "timed_out"}]
