"""Recomputes from real A/A runs how often the gate would block: nothing changed, or a known share slower.

Each trial takes consecutive runs of the recording from a random start (going on at the beginning after the
last), two by two as pairs whose sides a coin decides, multiplies one side by the change, and gates as `gate`
does: looks after 6, 12 and 24 pairs. Usage: false_alarms.py [DATA.jsonl] [--trials N]   Seeds are fixed.
"""

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev

from shadow_perfgate.decide.rules import Role, Rules, Threshold
from shadow_perfgate.decide.sampled import Look
from shadow_perfgate.decide.samples import Samples
from shadow_perfgate.decide.shift import cv
from shadow_perfgate.decide.verdict import MetricDecision, Verdict
from shadow_perfgate.decide.workload import decide_metrics
from shadow_perfgate.metrics import CANONICAL

DATA = Path(__file__).parent / "data" / "aa-h200.jsonl"
RULES = Rules()
CHANGES = (0.0, 0.025, 0.05, 0.075, 0.10)
SERIES = (
    ("eager", "itl_median"),
    ("eager", "ttft_median"),
    ("eager", "gpu_ms_per_token"),
    ("graphs", "itl_median"),
    ("graphs", "ttft_median"),
    ("graphs", "output_tps"),
    ("graphs", "gpu_ms_per_token"),
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of the trials, and the pairs that they took on average."""

    blocked: float
    undecided: float
    pairs: float


def series(path: Path, mode: str, metric: str) -> list[float]:
    """Return the metric of all runs of a quiet mode in the order in which they were made."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    chosen = [row["metrics"] for row in rows if row["mode"].split("/")[0] == mode]
    return [metrics[metric] for metrics in chosen if metric in metrics]


def pairs(values: Sequence[float], factor: float, source: random.Random) -> Iterator[tuple[float, float]]:
    """Yield (base, candidate) from consecutive runs; a coin decides which of two is the candidate's."""
    place = source.randrange(len(values))
    while True:
        both = [values[place % len(values)], values[(place + 1) % len(values)]]
        source.shuffle(both)
        yield both[0], both[1] * factor
        place += 2


def gate(metric: str, found: Iterator[tuple[float, float]]) -> tuple[Verdict, int]:
    """Return the verdict and the pairs it took."""
    looks = list(RULES.looks)
    measured: list[tuple[float, float]] = []
    number = 0
    while True:
        while len(measured) < looks[number]:
            measured.append(next(found))
        decision = decided(metric, measured, Look(RULES.alpha / 3, last=number == len(looks) - 1))
        if not decision.open:
            return decision.verdict, len(measured)
        if number == 0 and max(cv(decision.base), cv(decision.candidate)) > RULES.noisy_from:
            looks[1:] = RULES.noisy_looks[1:]
        number += 1


def decided(metric: str, measured: Sequence[tuple[float, float]], look: Look) -> MetricDecision:
    """Decide on one gated metric with the default limit."""
    base, candidate = (tuple(pair[side] for pair in measured) for side in (0, 1))
    spec = CANONICAL[metric]
    samples = Samples(spec, Threshold(Role.GATE, 0.05), base, candidate, paired=True, requests=1000)
    return decide_metrics([samples], look)[0]


def rates(values: Sequence[float], metric: str, change: float, trials: int) -> Rates:
    """Return how often the gate blocks a candidate that is slower by `change`."""
    factor = 1 / (1 + change) if CANONICAL[metric].direction == "higher" else 1 + change
    verdicts: list[Verdict] = []
    used: list[int] = []
    for trial in range(trials):
        source = random.Random(f"{metric}/{change}/{trial}")
        verdict, number = gate(metric, pairs(values, factor, source))
        verdicts.append(verdict)
        used.append(number)
    blocked, undecided = verdicts.count(Verdict.FAIL), verdicts.count(Verdict.INCONCLUSIVE)
    return Rates(blocked / trials, undecided / trials, fmean(used))


def naive(values: Sequence[float], metric: str) -> float:
    """Return how often a run is more than 5 % worse than the one before: one value against one value."""
    higher = CANONICAL[metric].direction == "higher"
    worse = [(a / b if higher else b / a) > 1.05 for a, b in pairwise(values)]
    return sum(worse) / len(worse)


def main() -> None:
    """Print one line per series: noise, naive false alarms, and the gate's rates per change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    heads = [f"+{change:.1%}" for change in CHANGES]
    print(f"| mode | metric | runs | CV | one run against one | {' | '.join(heads)} | pairs |")
    print("|" + "---|" * (6 + len(heads)))
    for mode, metric in SERIES:
        values = series(options.data, mode, metric)
        found = [rates(values, metric, change, options.trials) for change in CHANGES]
        cells = [f"{rate.blocked:.1%} ({rate.undecided:.1%})" for rate in found]
        noise = stdev(values) / fmean(values)
        pair = f"{found[0].pairs:.1f} to {max(rate.pairs for rate in found):.1f}"
        start = f"| {mode} | `{metric}` | {len(values)} | {noise:.2%} | {naive(values, metric):.1%}"
        print(f"{start} | {' | '.join(cells)} | {pair} |", flush=True)


if __name__ == "__main__":
    main()
