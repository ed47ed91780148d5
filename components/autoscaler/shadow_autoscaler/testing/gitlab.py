"""A forge in memory that behaves like GitLab: one runner token per pool, managers, retries of single jobs."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from shadow_autoscaler.core.events import Event, JobSeen, Removal, RerunOutcome, Runner
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.ports import Registration
from shadow_autoscaler.testing.forge import Connection, FakeForge


class FakeGitLab(FakeForge):
    """GitLab's ways: a manager appears when a VM first calls, and stays until somebody removes it."""

    kind = ForgeKind.GITLAB
    lost_s = 3600.0

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._managers: dict[str, Runner] = {}
        self._pools: dict[str, Pool] = {}
        self._retried: set[JobKey] = set()

    def runners(self) -> tuple[Runner, ...]:
        """Return managers, also those whose VM is long gone."""
        with self._faults.call("gitlab.runners", writes=False):
            return self._seen(self._managers.values())

    def register(self, pool: Pool, runner_name: str, key: JobKey | None) -> Registration:
        """Return the pool's token; the forge is not asked."""
        with self._faults.call("gitlab.register"):
            self._pools[f"glrt-{pool.name}"] = pool
            self.minted.append(runner_name)
            config = {"kind": "gitlab", "url": "http://gitlab.test", "token": f"glrt-{pool.name}"}
            config["wait_timeout_s"] = f"{pool.patience_s(warm=key is None):.0f}"
            return Registration(None, runner_name, config)

    def deregister(self, runner_name: str, runner_id: int | None, system_id: str = "") -> Removal:  # noqa: ARG002
        """Remove a manager; a busy one stays."""
        with self._faults.call("gitlab.deregister"):
            if self.busy(runner_name):
                return Removal.BUSY
            self._managers.pop(runner_name, None)
            if connection := self._online.pop(runner_name, None):
                connection.ended(False)
            return Removal.GONE

    def rerun(self, key: JobKey, run_id: int) -> RerunOutcome:
        """Retry one job, once."""
        with self._faults.call("gitlab.rerun"):
            facts = self._jobs[key]
            if facts.status is not JobStatus.DONE:
                return RerunOutcome.NOT_YET
            if key in self._retried or facts.conclusion == "success":
                return RerunOutcome.REFUSED
            self._retried.add(key)
            self.reruns.append((self.clock.true, key, run_id))
            self._again(facts, facts.key.attempt)
            return RerunOutcome.DONE

    def connect(self, config: Mapping[str, str], runner_name: str, ended: Callable[[bool], None]) -> None:
        """Bring a manager online."""
        pool = self._pools.get(config.get("token", ""))
        if pool is None:
            ended(False)
            return
        self._ids += 1
        manager = Runner(self._ids, runner_name, online=True, busy=False, system_id=f"s_{self._ids:012x}")
        self._managers[runner_name] = manager
        self._come_online(manager, pool.labels, ended)
        connection = self._online[runner_name]
        wait_s = float(config.get("wait_timeout_s", "300"))
        self.clock.after(wait_s, lambda: self._time_is_up(runner_name, connection))

    def _time_is_up(self, runner_name: str, connection: Connection) -> None:
        """End a machine that was given no job in time."""
        if self._online.get(runner_name) is connection and connection.job is None:
            del self._online[runner_name]
            connection.ended(True)

    def registrations(self) -> Mapping[str, Runner]:
        """Return all managers as they really are, for a test to look at."""
        return self._managers

    def _emit(self, event: Event) -> None:
        # A hook names neither the job's tags nor the machine that runs it.
        if isinstance(event, JobSeen):
            facts = replace(event.facts, labels=(), runner_name="", runner_id=None, partial=True)
            event = replace(event, facts=facts)
        super()._emit(event)

    def _released(self, connection: Connection) -> None:
        """Keep the manager: somebody has to remove it."""
