"""Replays a month of CI jobs in virtual time under three ways to buy GPUs.

    PYTHONPATH=tests .venv/bin/python benchmarks/autoscaler/month.py

The month is synthetic, the same for each way and made from a seed; docs/reference/autoscaler-benchmarks.md
describes it. Runtime and core are the real ones; cloud, forge and VMs are the simulator's.
"""

import argparse
import logging
import math
import random
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from chaos.guests import Guest
from chaos.scenario import Trouble, Work
from chaos.simulation import Simulation

from shadow_autoscaler.core.events import RerunOutcome
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey
from shadow_autoscaler.core.machines import Market
from shadow_autoscaler.core.pools import Deployment, Pool, Rung
from shadow_autoscaler.runtime.reads import Pace
from shadow_autoscaler.testing.cloud import CloudTraits
from shadow_autoscaler.testing.faults import Rates

SPOT_EUR, ON_DEMAND_EUR = 0.29, 0.4833
"""The list's price of an RTX 2000 Ada, and the on-demand price that the stack assumes (spot / 0.6)."""
SPOT, ON_DEMAND = "edge-preemptible-c4m16-gpu-2000-1", "edge-c4m16-gpu-2000-1"
KINDS = ((0.60, 8.0, 0.6), (0.30, 25.0, 0.5), (0.10, 100.0, 0.5))
"""Share, median minutes and spread (sigma of the logarithm): tests, benchmarks, trainings."""
RECLAIM_S = 4 * 3600.0
HUMAN_S = 1800.0
"""How long it takes until somebody sees a failed job and presses the button."""
PACE = Pace(tick=30.0, servers=60.0, jobs=300.0, leftovers=1800.0, quota=900.0, redelivery=3600.0)
LABELS = ("self-hosted", "gpu")


@dataclass(frozen=True, slots=True)
class Month:
    """Thirty days of jobs."""

    seed: int = 1
    jobs: int = 3000
    days: int = 30
    trouble: frozenset[Trouble] = frozenset({Trouble.RECLAIMS, Trouble.SILENT_RECLAIMS})

    @property
    def arrival_s(self) -> float:
        """Return how long jobs keep coming."""
        return self.days * 86_400.0

    def has(self, trouble: Trouble) -> bool:
        """Whether that trouble happens: only what belongs to spot does."""
        return trouble in self.trouble

    def rates(self) -> Mapping[str, Rates]:
        """Return no failing calls."""
        return {}

    def works(self) -> Iterator[Work]:
        """Yield the jobs, in runs of one to six."""
        rng, number, run_id = random.Random(f"month:{self.seed}"), 0, 0
        while number < self.jobs:
            run_id += 1
            at = self._moment(rng)
            for _ in range(min(rng.choice((1, 1, 1, 2, 3, 6)), self.jobs - number)):
                yield Work(
                    number,
                    at,
                    ForgeKind.GITHUB,
                    f"acme/p{run_id % 9}",
                    run_id,
                    f"job{number}",
                    LABELS,
                    _length(rng),
                )
                number += 1

    def _moment(self, rng: random.Random) -> float:
        while True:
            at = rng.uniform(0.0, self.arrival_s)
            weekday, hour = int(at // 86_400 + 3) % 7, at % 86_400 / 3600
            busy = 0.06 if weekday >= 5 else 1.0 if 8 <= hour < 19 else 0.12
            if rng.random() < busy:
                return at


def _length(rng: random.Random) -> float:
    _, median, sigma = rng.choices(KINDS, [share for share, _, _ in KINDS])[0]
    return min(6 * 3600.0, 60.0 * median * math.exp(rng.gauss(0.0, sigma)))


def _deployment(*ladder: Rung, **changes: float) -> Deployment:
    pool = Pool("gpu", ForgeKind.GITHUB, LABELS, ladder, 60)
    return Deployment("month", (replace(pool, **changes),))  # type: ignore[arg-type]


_SPOT = Rung(SPOT, Market.SPOT, SPOT_EUR)
_ON_DEMAND = Rung(ON_DEMAND, Market.ON_DEMAND, ON_DEMAND_EUR)
LONG_S = 3600.0
WAYS = {
    "on-demand only": _deployment(_ON_DEMAND),
    "spot first (this autoscaler)": _deployment(_SPOT, _ON_DEMAND),
    "spot first, jobs known to take over an hour on-demand": _deployment(
        _SPOT, _ON_DEMAND, spot_up_to_s=LONG_S
    ),
    # Bought as if it were on-demand: no other flavor to go to, no notice, and nobody runs a lost job again.
    "naive spot": _deployment(Rung(SPOT, Market.ON_DEMAND, SPOT_EUR)),
}


class Replay(Simulation):
    """The month under one way to buy."""

    def __init__(self, month: Month, way: str, *, hosts: bool = True) -> None:
        self.naive = way == "naive spot"
        known = {f"{work.project}/{work.name}": work.seconds for work in month.works()}
        deployment = replace(WAYS[way], job_seconds=known)
        super().__init__(
            month, deployment=deployment, traits=CloudTraits({SPOT: 6, ON_DEMAND: None}), pace=PACE
        )
        self.guests.reclaim_s = RECLAIM_S
        self._hosts = random.Random(f"hosts:{month.seed}")
        if hosts:
            self._change_hosts()

    def lost_minutes(self) -> float:
        """Return the minutes of jobs that ran and were lost with their VM."""
        lost = (
            injury.at - (self.facts(key).started_at or injury.at) for key, injury in self.injuries.items()
        )
        return sum(lost) / 60

    def results(self) -> list[float]:
        """Return the seconds from each job's submission to its last end."""
        ends = list[float]()
        for _, keys in self.attempts():
            first, last = self.facts(keys[0]), self.facts(keys[-1])
            ends.append((last.finished_at or self.clock.true) - first.queued_at)
        return ends

    def waits(self) -> list[float]:
        """Return the seconds in the queue of every attempt that was started."""
        return [f.started_at - f.queued_at for f in self._all() if f.started_at is not None]

    def succeeded(self) -> int:
        """Return how many jobs ended well, at whatever attempt."""
        return sum(self.facts(keys[-1]).conclusion == "success" for _, keys in self.attempts())

    def _all(self) -> Iterator[JobFacts]:
        return (facts for forge in self.forges.values() for facts in forge.truth().values())

    def _change_hosts(self) -> None:
        # Spot hosts come and go with the demand of others: between 4 and 28, anew every three hours.
        self.cloud.traits.flavors = {SPOT: self._hosts.randint(4, 28), ON_DEMAND: None}
        self.clock.after(3 * 3600.0, self._change_hosts)

    def _guest_down(self, guest: Guest, by: str) -> None:
        before = set(self.injuries)
        super()._guest_down(guest, by)
        for key in set(self.injuries) - before if self.naive else ():
            self.clock.after(600.0 + HUMAN_S, lambda key=key: self._by_hand(key))  # type: ignore[misc]

    def _by_hand(self, key: JobKey) -> None:
        outcome = self.forges[key.forge].rerun(key, self.facts(key).run_id)
        if outcome is RerunOutcome.NOT_YET:
            self.clock.after(HUMAN_S, lambda: self._by_hand(key))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a Markdown table, money and time also as ratios to on-demand only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--ways", nargs="*", choices=list(WAYS), default=list(WAYS), metavar="WAY")
    wanted = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    month = Month(wanted.seed, wanted.jobs, wanted.days)
    print("| way | EUR | ratio | lost h | re-runs | wait p50 s | ratio | p95 s | result p95, ratio | done |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    base: tuple[float, float, float] | None = None
    for way in wanted.ways:
        replay = Replay(month, way)
        replay.run()
        eur, wait, ends = (
            replay.cloud.eur(replay.prices),
            statistics.median(replay.waits()),
            _p95(replay.results()),
        )
        base = base or (eur, wait, ends)
        reruns = sum(len(forge.reruns) for forge in replay.forges.values())
        print(
            f"| {way} | {eur:.2f} | {eur / base[0]:.3f} | {replay.lost_minutes() / 60:.1f} | {reruns} "
            f"| {wait:.0f} | {wait / base[1]:.3f} | {_p95(replay.waits()):.0f} | {ends / base[2]:.3f} "
            f"| {replay.succeeded()} of {wanted.jobs} |",
            flush=True,
        )


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


if __name__ == "__main__":
    main()
