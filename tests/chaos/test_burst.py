"""Case 10 of the autoscaler's input cases: 256 jobs at once, three VMs, a rate limit, a kill."""

import logging
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from chaos.scenario import DEPLOYMENT, Trouble, Work
from chaos.simulation import Simulation
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.runtime.reads import Pace
from shadow_autoscaler.testing.cloud import CloudTraits
from shadow_autoscaler.testing.faults import Rates

JOBS, MOST, PATIENCE_S = 256, 3, 60.0
UNUSED_S = 300.0
"""No configuration may be older when its runner comes online."""


@dataclass(frozen=True, slots=True)
class Burst:
    """A matrix of jobs that are queued within three seconds."""

    seed: int = 10
    jobs: int = JOBS
    trouble: frozenset[Trouble] = frozenset({Trouble.HOOKS_DOUBLED})
    arrival_s: float = 9 * 3600.0
    """How long webhooks come twice."""

    def has(self, trouble: Trouble) -> bool:
        """Whether that kind of trouble is part of it."""
        return trouble in self.trouble

    def rates(self) -> Mapping[str, Rates]:
        """Nothing fails by itself."""
        return {}

    def works(self) -> Iterator[Work]:
        """Yield the jobs in no order."""
        rng = random.Random(self.seed)
        labels = ("self-hosted", "rtx2000")
        for number in range(self.jobs):
            at = rng.uniform(0.0, 3.0)
            yield Work(number, at, ForgeKind.GITHUB, "acme/app", 900, f"m{number}", labels, 120.0)


class Burdened(Simulation):
    """The twentieth configuration is refused for a minute, and the process dies after two hours."""

    def __init__(self) -> None:
        pool = replace(DEPLOYMENT.pools[0], max=MOST, idle=())
        deployment = replace(DEPLOYMENT, pools=(pool,))
        pace = Pace(tick=20.0, jobs=180.0)
        super().__init__(Burst(), deployment=deployment, traits=CloudTraits(instances=4), pace=pace)
        self.refused_at: float | None = None
        self.too_early: list[str] = []
        self.most = 0
        self.left = 0
        self.minted_at: dict[str, float] = {}
        self.ages: list[float] = []
        self.faults.hook = self._watch_calls
        github = self.forges[ForgeKind.GITHUB]
        connect = github.connect

        def connected(config: Mapping[str, str], name: str, ended: object) -> None:
            self.ages.append(self.clock.true - self.minted_at[name])
            connect(config, name, ended)  # type: ignore[arg-type]

        github.connect = connected  # type: ignore[method-assign]
        self.clock.after(2 * 3600.0, self._kill)

    def _kill(self) -> None:
        assert self.process is not None
        self.left = sum(not facts.finished_at for facts in self.forges[ForgeKind.GITHUB].truth().values())
        self.process.kill()

    def _watch_calls(self, verb: str, moment: str) -> None:
        self.most = max(self.most, len(self.cloud.truth()))
        if not verb.startswith("github.") or moment != "before":
            return
        if self.refused_at is not None and self.clock.true < self.refused_at + PATIENCE_S:
            self.too_early.append(verb)
        if verb == "github.register" and self.faults.calls[verb] == 20:
            self.refused_at = self.clock.true
            self.faults.script(verb, Failure(FailureKind.THROTTLED, "secondary rate limit", PATIENCE_S))
        if verb == "github.register":
            self.clock.after(0.0, self._note_minted)

    def _note_minted(self) -> None:
        for name in self.forges[ForgeKind.GITHUB].minted:
            self.minted_at.setdefault(name, self.clock.true)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep the log out of the report."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_case_10_every_job_of_a_burst_is_served_across_a_kill_and_a_rate_limit() -> None:
    sim = Burdened()
    result = sim.run()
    assert result.breaches == ()
    github = sim.forges[ForgeKind.GITHUB]
    assert [github.starts[key] for key in github.truth()] == [1] * JOBS
    assert {facts.conclusion for facts in github.truth().values()} == {"success"}
    assert sim.most == MOST
    assert sim.refused_at is not None
    assert sim.too_early == []
    assert result.figures["process lives"] == 2
    assert 100 < sim.left < JOBS
    assert result.figures["servers"] <= JOBS + MOST
    assert max(sim.ages) < UNUSED_S
    assert not github.registrations()
