"""One run: world, process and laws together, in virtual time."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaos import laws
from chaos.guests import MIN_UPTIME_S, Guest, Guests
from chaos.process import PACE, Killed, Process
from chaos.scenario import DEPLOYMENT, Plan, Trouble, Work
from shadow_autoscaler.core.events import Event
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import Counters, Decision, State
from shadow_autoscaler.ports import Delivery
from shadow_autoscaler.runtime.reads import Pace
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import CloudTraits, FakeCloud
from shadow_autoscaler.testing.faults import FaultPlan
from shadow_autoscaler.testing.forge import FakeForge
from shadow_autoscaler.testing.github import FakeGitHub
from shadow_autoscaler.testing.gitlab import FakeGitLab
from shadow_autoscaler.testing.store import FakeStore, StoredData

SETTLE_S = 30 * 3600.0
"""Quiet after the last job has come: a waiting job may take up to a day to be given up."""
LOOK_S = 30.0


@dataclass(frozen=True, slots=True)
class Injury:
    """A job that the cloud took the VM from."""

    at: float
    run: tuple[str, int]
    vm: str


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended."""

    scenario: Plan
    breaches: tuple[str, ...]
    figures: dict[str, float]
    trace: tuple[str, ...] = ()


@dataclass(slots=True)
class Trace:
    """Writes down every event and what was decided."""

    clock: VirtualClock
    lines: list[str] = field(default_factory=list[str])

    def decided(self, event: Event | None, decision: Decision, before: State, now: float) -> None:
        """Note a decision."""
        if event is None:
            return
        what = "; ".join(
            [f"{note.subject}: {note.text}" for note in decision.notes] + [repr(i) for i in decision.intents]
        )
        text = repr(event)
        if what or len(text) < 400:
            self.add(f"{text[:400]} -> {what}")

    def add(self, text: str) -> None:
        """Note anything else."""
        self.lines.append(f"{self.clock.true:.2f} {text}")


class Simulation:
    """A world with one autoscaler in it."""

    def __init__(
        self,
        scenario: Plan,
        *,
        trace: bool = False,
        deployment: Deployment = DEPLOYMENT,
        traits: CloudTraits | None = None,
        pace: Pace = PACE,
    ) -> None:
        self.scenario, self.clock, self.data = scenario, VirtualClock(), StoredData()
        self.deployment, self._pace = deployment, pace
        self.prices = {rung.flavor: rung.eur_per_hour for pool in deployment.pools for rung in pool.ladder}
        self.trace = Trace(self.clock) if trace else None
        self.faults = FaultPlan(scenario.seed, scenario.rates())
        self.cloud = FakeCloud(self.clock, self.faults, traits or _traits(scenario), scenario.seed)
        self.forges: dict[ForgeKind, FakeForge] = {
            ForgeKind.GITHUB: FakeGitHub(self.clock, self.faults, seed=scenario.seed),
            ForgeKind.GITLAB: FakeGitLab(self.clock, self.faults, seed=scenario.seed),
        }
        self.injuries: dict[JobKey, Injury] = {}
        self.killings: list[str] = []
        self.breaches: dict[str, None] = {}
        self.process: Process | None = None
        self.store_lost = False
        self._random = random.Random(f"{scenario.seed}:world")
        self._works: dict[tuple[ForgeKind, int, str], Work] = {}
        self._cancelled: set[str] = set()
        self._taken: dict[str, float] = {}
        self._calm = False
        self._lives = self._deliveries = 0
        self._events: dict[str, Event] = {}
        self._max_servers = 0
        self.guests = Guests(
            scenario,
            self.clock,
            self.cloud,
            lambda: self.process,
            lambda kind: self.forges[ForgeKind(kind)],
            self._guest_down,
        )
        self.faults.hook = self._maybe_die
        for forge in self.forges.values():
            forge.deliver = self._webhook

    def run(self) -> Result:
        """Run to the end and look at the laws."""
        for work in self.scenario.works():
            self._works[work.forge, work.run_id, work.name] = work
            self.clock.after(work.at, lambda work=work: self._submit(work))  # type: ignore[misc]
        self._start()
        self._jump()
        self.clock.after(self._random.uniform(600.0, 2 * 3600.0), self._suspend)
        self._watch()
        self.clock.advance(self.scenario.arrival_s + 600.0)
        self._end_trouble()
        self._settle()
        for breach in laws.finally_(self):
            self._breach(breach)
        trace = tuple(self.trace.lines) if self.trace else ()
        return Result(self.scenario, tuple(self.breaches), self._figures(), trace)

    def lose_store(self) -> None:
        """Kill the process and have the next one begin with an empty store."""
        self.store_lost = True
        self.data = StoredData(State(counters=Counters(generation="later")))
        if self.process is not None:
            self.process.kill()

    def facts(self, key: JobKey) -> JobFacts:
        """Return a job as its forge holds it."""
        return self.forges[key.forge].truth()[key]

    def attempts(self) -> Iterator[tuple[Work, list[JobKey]]]:
        """Yield each wanted job and the keys under which it was tried, in order."""
        keys: dict[tuple[ForgeKind, int, str], list[JobKey]] = {}
        for forge in self.forges.values():
            for facts in forge.truth().values():
                keys.setdefault((forge.kind, facts.run_id, facts.name), []).append(facts.key)
        for identity, work in self._works.items():
            yield work, keys[identity]

    def explained(self, work: Work, last: JobFacts) -> bool:
        """Whether a job that did not succeed has no reason to be counted as lost."""
        if work.fails and last.conclusion == "failure":
            return True
        if work.name in self._cancelled:
            return True
        # Taken once more than its pool pays re-runs for, or on a VM that was never said to be taken.
        return last.key in self.injuries

    def run_jobs(self, kind: str, project: str, run_id: int) -> Iterator[JobFacts]:
        """Yield all jobs of a run, all attempts."""
        for facts in self.forges[ForgeKind(kind)].truth().values():
            if facts.run_id == run_id and facts.key.project == project:
                yield facts

    def looks_lost(self, facts: JobFacts) -> bool:
        """Whether a job was lost to the cloud, or failed by itself on a VM that the cloud then took.

        Nobody who was away between the two can tell them apart.
        """
        if facts.key in self.injuries:
            return True
        since = self._taken.get(facts.runner_name)
        ended = facts.finished_at or 0.0
        return since is not None and facts.conclusion == "failure" and ended >= since + MIN_UPTIME_S

    def ideal_eur(self) -> float:
        """Return what every attempt's minutes, and a boot for each, cost on-demand."""
        seconds = 0.0
        for forge in self.forges.values():
            for facts in forge.truth().values():
                seconds += laws.ran_seconds(facts) + laws.BOOT_S
        return seconds / 3600 * max(self.prices.values())

    def _submit(self, work: Work) -> None:
        forge = self.forges[work.forge]
        key = forge.new_key(work.project)
        facts = JobFacts(
            key, JobStatus.QUEUED, work.name, work.labels, work.run_id, self.clock.true, ref="main"
        )
        forge.submit(facts, work.seconds, fails=work.fails)
        if work.cancel_after is not None:
            self.clock.after(work.cancel_after, lambda: self._cancel(forge, work))

    def _cancel(self, forge: FakeForge, work: Work) -> None:
        for facts in list(forge.truth().values()):
            same = facts.run_id == work.run_id and facts.name == work.name
            if same and facts.status is not JobStatus.DONE:
                self._cancelled.add(work.name)
                forge.cancel(facts.key)

    def _webhook(self, event: Event) -> bool:
        has, rng = self.scenario.has, self._random
        if not self._calm and has(Trouble.HOOKS_LOST) and rng.random() < 0.05:
            return False
        self._deliveries += 1
        name = f"hook-{self._deliveries}"
        self._events[name] = event
        late = not self._calm and has(Trouble.HOOKS_LATE) and rng.random() < 0.1
        self.clock.after(rng.uniform(0.0, 600.0 if late else 2.0), lambda: self._deliver(name, event))
        if not self._calm and has(Trouble.HOOKS_DOUBLED) and rng.random() < 0.1:
            self.clock.after(rng.uniform(0.0, 30.0), lambda: self._deliver(name, event))
        return True

    def _deliver(self, name: str, event: Event) -> None:
        forge = _forge_of(event)
        delivery = Delivery(name, forge.value, name, b"", self.clock.true)
        if self.process is None or not self.process.accept([delivery]):
            self.forges[forge]._lost.append((self.clock.true, event))

    def _guest_down(self, guest: Guest, by: str) -> None:
        if by == "cloud":
            self._taken[guest.runner_name] = guest.active_at
        for forge in self.forges.values():
            key = forge.busy(guest.runner_name)
            if key is None:
                continue
            if self.trace:
                self.trace.add(f"# {guest.vm} goes down by {by} while {key} runs")
            if by == "cloud":
                self.injuries[key] = Injury(self.clock.true, (key.project, self.facts(key).run_id), guest.vm)
            else:
                vm = self.data.state.vms.get(guest.vm)
                self.killings.append(
                    f"job {key} was killed by our deletion of VM {guest.vm} ({vm.cause if vm else 'unknown'})"
                )

    def _start(self) -> None:
        self._lives += 1
        store = FakeStore(self.data, self.faults)
        self.process = Process(
            self.clock,
            store,
            self.cloud,
            self.forges,
            self.deployment,
            self._pace,
            f"{self.scenario.seed}:{self._lives}",
            self._died,
            (self.trace,) if self.trace else (),
            lambda name: self._events[name],
        )

    def _died(self) -> None:
        self.process = None
        wait = self._random.choice((0.0, 1.0, 5.0, 60.0, self._random.uniform(0.0, 3600.0)))
        if self.trace:
            self.trace.add(f"# the process died, back in {wait:.0f} s")
        self.clock.after(wait, self._start)

    def _maybe_die(self, _verb: str, _when: str) -> None:
        if not self._calm and self.scenario.has(Trouble.KILLS) and self._random.random() < 0.0005:
            raise Killed

    def _jump(self) -> None:
        if self._calm or not self.scenario.has(Trouble.CLOCK):
            return
        most = self._random.choice((0.0, 600.0, 6 * 3600.0, 10 * 86_400.0))
        self.clock.offset = self._random.uniform(-most, most)
        self.clock.after(self._random.uniform(600.0, 4 * 3600.0), self._jump)

    def _suspend(self) -> None:
        if self._calm or not self.scenario.has(Trouble.SUSPENDS):
            return
        if self.process is not None:
            self.process.suspend(self._random.uniform(60.0, 3600.0))
        self.clock.after(self._random.uniform(2 * 3600.0, 12 * 3600.0), self._suspend)

    def _watch(self) -> None:
        self._max_servers = max(self._max_servers, len(self.cloud.truth()))
        for breach in laws.always(self):
            self._breach(breach)
        self.clock.after(LOOK_S, self._watch)

    def _breach(self, text: str) -> None:
        if text not in self.breaches and self.trace:
            self.trace.add(f"# BREACH {text}")
        self.breaches[text] = None

    def _end_trouble(self) -> None:
        self._calm = self.guests.calm = True
        self.faults.on = False
        self.clock.offset = 0.0
        self.cloud.traits = CloudTraits()

    def _settle(self) -> None:
        end = self.clock.true + SETTLE_S
        while self.clock.true < end and any(laws.settled(self)):
            self.clock.advance(600.0)

    def _figures(self) -> dict[str, float]:
        jobs = [facts for forge in self.forges.values() for facts in forge.truth().values()]
        waits = sorted(f.started_at - f.queued_at for f in jobs if f.started_at is not None)
        return {
            "jobs": len(self._works),
            "attempts": len(jobs),
            "succeeded": sum(facts.conclusion == "success" for facts in jobs),
            "lost to the cloud": len(self.injuries),
            "re-runs": sum(len(forge.reruns) for forge in self.forges.values()),
            "servers": len(self.cloud.bills),
            "servers at most": self._max_servers,
            "calls": sum(self.faults.calls.values()),
            "calls failed": sum(self.faults.failed.values()),
            "process lives": self._lives,
            "days": round((self.clock.true - 1_767_225_600.0) / 86_400, 2),
            "wait p50 s": round(waits[len(waits) // 2], 1) if waits else 0.0,
            "wait p95 s": round(waits[len(waits) * 95 // 100], 1) if waits else 0.0,
            "EUR": round(self.cloud.eur(self.prices), 2),
            "EUR ideal on-demand": round(self.ideal_eur(), 2),
        }


def _traits(scenario: Plan) -> CloudTraits:
    has = scenario.has
    return CloudTraits(
        flavors={
            "rtx2000-preemptible": 6,
            "rtx2000": 18,
            "a4500-preemptible": 3,
            "a4500": 9,
            "lab-preemptible": 5,
            "lab": 18,
        }
        if has(Trouble.CAPACITY)
        else {},
        error_share=0.02 if has(Trouble.BUILD_FAILS) else 0.0,
        stuck_share=0.05 if has(Trouble.STUCK) else 0.0,
        leftover_share=0.05 if has(Trouble.LEFTOVERS) else 0.0,
    )


def _forge_of(event: Event) -> ForgeKind:
    key: JobKey = event.facts.key if hasattr(event, "facts") else event.key  # type: ignore[union-attr]
    return key.forge
