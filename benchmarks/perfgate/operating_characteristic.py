"""Simulates how often the gate blocks, over noise and true change, beside two common rules on the same runs.

`python benchmarks/perfgate/operating_characteristic.py --trials 2000` prints the tables of
docs/reference/perf-gate.md. Seeds are fixed: the same call prints the same figures.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from statistics import fmean, median

from shadow_perfgate.decide.rules import Role, Rules, Threshold
from shadow_perfgate.decide.sampled import Look
from shadow_perfgate.decide.samples import Samples
from shadow_perfgate.decide.shift import cv
from shadow_perfgate.decide.verdict import MetricDecision, Verdict, worst
from shadow_perfgate.decide.workload import decide_metrics
from shadow_perfgate.metrics import CANONICAL

RULES = Rules()
CHANGES = (0.0, 0.025, 0.05, 0.075, 0.10)
METRIC = CANONICAL["itl_median"]
Pairs = list[tuple[float, float]]


@dataclass(frozen=True)
class Noise:
    """What disturbs runs, made one after another in the order ABBA BAAB."""

    name: str
    cv: float
    drift: float = 0.0
    """Standard deviation of a random walk's end, over 48 runs."""
    outliers: float = 0.0
    """Share of runs that are 15 % slower."""
    throttled: float = 0.0
    """Share of runs that are 30 % slower and marked, so that the gate drops them with their partner."""


def pairs(noise: Noise, change: float, source: random.Random) -> Iterator[tuple[float, float] | None]:
    """Yield pairs (base, candidate) as they are measured; None for one that is dropped."""
    walk = 0.0
    for number in count():
        both, dropped = [0.0, 0.0], False
        for side in (0, 1) if number % 4 in {0, 3} else (1, 0):
            walk += source.gauss(0, noise.drift / math.sqrt(48))
            both[side] = walk + side * math.log1p(change) + source.gauss(0, noise.cv)
            both[side] += math.log(1.15) if source.random() < noise.outliers else 0.0
            dropped |= source.random() < noise.throttled
        yield None if dropped else (math.exp(both[0]), math.exp(both[1]))


def gate(found: Iterator[tuple[float, float] | None]) -> tuple[Verdict, int]:
    """Return the gate's verdict and the pairs it measured."""
    looks = list(RULES.looks)
    measured: list[tuple[float, float] | None] = []
    number = 0
    while True:
        while len(measured) < looks[number]:
            measured.append(next(found))
        last = number == len(looks) - 1
        kept = [pair for pair in measured if pair is not None]
        decision = decided(kept, Look(RULES.alpha / 3, last=last))
        if not decision.open:
            return decision.verdict, len(measured)
        if number == 0 and max(cv(decision.base), cv(decision.candidate)) > RULES.noisy_from:
            looks[1:] = RULES.noisy_looks[1:]
        number += 1


def decided(kept: Pairs, look: Look) -> MetricDecision:
    """Decide on pairs as the gate does."""
    return decide_metrics([_samples(kept, METRIC.name)], look)[0]


def single_ratio(kept: Pairs) -> bool:
    """Apply github-action-benchmark's rule, one value against one value, with its threshold at 105 %."""
    return kept[0][1] / kept[0][0] > 1.05


def median_ratio(kept: Pairs) -> bool:
    """Apply pytest-benchmark's `--benchmark-compare-fail=median:5%` to the first six runs of each side."""
    return median(c for _, c in kept[:6]) / median(b for b, _ in kept[:6]) > 1.05


def row(noise: Noise, change: float, trials: int) -> tuple[float, ...]:
    """Return the shares blocked by the gate, undecided, blocked by each rule, and the mean of pairs."""
    blocked, open_, single, medians, used = 0, 0, 0, 0, []
    for trial in range(trials):
        source = random.Random(f"{noise}/{change}/{trial}")
        verdict, number = gate(pairs(noise, change, source))
        blocked += verdict is Verdict.FAIL
        open_ += verdict is Verdict.INCONCLUSIVE
        used.append(number)
        again = pairs(noise, change, random.Random(f"{noise}/{change}/{trial}"))
        kept = [pair for pair in (next(again) for _ in range(8)) if pair is not None]
        single += single_ratio(kept)
        medians += median_ratio(kept)
    return blocked / trials, open_ / trials, single / trials, medians / trials, fmean(used)


NOISES = (
    *(Noise(f"CV {percent} %", percent / 100) for percent in (1, 2, 3, 5)),
    Noise("CV 2 %, drift 4 %", 0.02, drift=0.04),
    Noise("CV 2 %, 10 % outliers of +15 %", 0.02, outliers=0.10),
    Noise("CV 2 %, 5 % of runs throttled", 0.02, throttled=0.05),
)


def of_several(noise: Noise, change: float, number: int, trials: int) -> tuple[float, float]:
    """Return the shares blocked and undecided when one of `number` gated metrics changes."""
    verdicts: list[Verdict] = []
    for trial in range(trials):
        sources = [random.Random(f"{noise}/{change}/{trial}/{place}") for place in range(number)]
        series = [pairs(noise, change if place == 0 else 0.0, source) for place, source in enumerate(sources)]
        verdicts.append(gate_of_several(series))
    return verdicts.count(Verdict.FAIL) / trials, verdicts.count(Verdict.INCONCLUSIVE) / trials


def gate_of_several(series: list[Iterator[tuple[float, float] | None]]) -> Verdict:
    """Return the gate's verdict on several metrics, whose p values are adjusted together."""
    measured: list[Pairs] = [[] for _ in series]
    looks, number = list(RULES.looks), 0
    while True:
        for kept, found in zip(measured, series, strict=True):
            kept += [pair for _ in range(looks[number] - len(kept)) if (pair := next(found)) is not None]
        last = number == len(looks) - 1
        samples = [_samples(kept, f"metric{place}") for place, kept in enumerate(measured)]
        decisions = decide_metrics(samples, Look(RULES.alpha / 3, last=last))
        verdict = worst(decision.verdict for decision in decisions if not decision.open)
        if verdict is Verdict.FAIL or not any(decision.open for decision in decisions):
            return verdict
        noisiest = max(cv(side) for decision in decisions for side in (decision.base, decision.candidate))
        if number == 0 and noisiest > RULES.noisy_from:
            looks[1:] = RULES.noisy_looks[1:]
        number += 1


def _samples(kept: Pairs, name: str) -> Samples:
    base, candidate = (tuple(pair[side] for pair in kept) for side in (0, 1))
    spec = replace(METRIC, name=name)
    return Samples(spec, Threshold(Role.GATE, 0.05), base, candidate, paired=True, requests=1000)


def family(trials: int, write: Callable[[str], None]) -> None:
    """Write the table of six gated metrics, as of two workloads, as Markdown."""
    write("| noise | change of one of six metrics | blocked | undecided |")
    write("|---|---:|---:|---:|")
    for noise in NOISES[1:4]:
        for change in CHANGES:
            blocked, open_ = of_several(noise, change, 6, trials)
            write(f"| {noise.name} | {100 * change:+.1f} % | {100 * blocked:.1f} % | {100 * open_:.1f} % |")


def table(trials: int, write: Callable[[str], None]) -> None:
    """Write the table as Markdown."""
    write("| noise | change | blocked | undecided | one value > 105 % | median of 6 > 105 % | pairs |")
    write("|---|---:|---:|---:|---:|---:|---:|")
    for noise in NOISES:
        for change in CHANGES:
            blocked, open_, single, medians, used = row(noise, change, trials)
            shares = " | ".join(f"{100 * share:.1f} %" for share in (blocked, open_, single, medians))
            write(f"| {noise.name} | {100 * change:+.1f} % | {shares} | {used:.1f} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--family", action="store_true", help="six gated metrics instead of one")
    options = parser.parse_args()
    (family if options.family else table)(options.trials, lambda text: print(text, flush=True))


if __name__ == "__main__":
    main()
