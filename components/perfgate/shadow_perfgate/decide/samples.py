"""One metric's values on both sides, in one unit, matched by pair where runs were interleaved."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log1p
from statistics import median

from shadow_perfgate.decide.rules import Role, Rules, Threshold
from shadow_perfgate.decide.shift import Shift, shift
from shadow_perfgate.model import Direction, Kind, MetricSpec, Run, Session
from shadow_perfgate.units import convert

EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Samples:
    """What was measured of one metric, and what it is held to."""

    spec: MetricSpec
    threshold: Threshold
    base: tuple[float, ...]
    candidate: tuple[float, ...]
    paired: bool
    requests: int
    """Smallest number of requests in a run of base; 0 when not known."""

    @property
    def sign(self) -> int:
        """Return -1 when higher is better, else 1."""
        return -1 if self.spec.direction is Direction.HIGHER else 1

    @property
    def medians(self) -> tuple[float, float]:
        """Return the median of base and of the candidate."""
        return median(self.base), median(self.candidate)

    @property
    def limit(self) -> float:
        """Return the share by which the candidate may be worse, the floor included."""
        base = median(self.base)
        return max(self.threshold.limit, self.threshold.floor / base if base else 0.0)

    @property
    def tau(self) -> float:
        """Return the limit on the log scale, with room for rounding: the limit itself is still allowed."""
        return log1p(self.limit) + EPSILON

    @property
    def too_few_requests(self) -> bool:
        """Tell whether a percentile stands on too few requests to be gated."""
        return self.requests < self.spec.min_requests

    @property
    def role(self) -> Role:
        """Return the role, which is to observe where the requests are too few for the percentile."""
        return Role.OBSERVE if self.too_few_requests else self.threshold.role

    def shift(self) -> Shift:
        """Compare both sides by ranks; values must be positive."""
        return shift(self.base, self.candidate, self.sign, paired=self.paired)


def collect(base: Session, candidate: Session, rules: Rules) -> Iterator[Samples]:
    """Yield every metric that both sides have, gated ones first, in the session's order."""
    old, new = _named(base, rules), _named(candidate, rules)
    found = [_samples(old[name], new[name], base, candidate, rules) for name in new if name in old]
    yield from sorted(filter(_comparable, found), key=lambda s: s.role is not Role.GATE)


def _named(session: Session, rules: Rules) -> dict[str, MetricSpec]:
    return {rules.aliases.get(spec.name, spec.name): spec for spec in session.metrics}


def _samples(old: MetricSpec, new: MetricSpec, base: Session, candidate: Session, rules: Rules) -> Samples:
    left = [(run.pair, run.metrics[old.name]) for run in base.runs if old.name in run.metrics]
    right = [
        (run.pair, convert(run.metrics[new.name], new.unit, old.unit))
        for run in candidate.runs
        if new.name in run.metrics
    ]
    paired = _is_paired(left) and _is_paired(right)
    if paired:
        both = {pair for pair, _ in left} & {pair for pair, _ in right}
        left = sorted((pair, value) for pair, value in left if pair in both)
        right = sorted((pair, value) for pair, value in right if pair in both)
    workload = candidate.workload
    return Samples(
        spec=new if new.unit == old.unit else _in_unit(new, old.unit),
        threshold=rules.threshold(new, workload.name),
        base=tuple(value for _, value in left),
        candidate=tuple(value for _, value in right),
        paired=paired,
        requests=min(map(_requests, base.runs), default=0) or workload.prompts,
    )


def _is_paired(values: list[tuple[int | None, float]]) -> bool:
    pairs = [pair for pair, _ in values]
    return bool(pairs) and None not in pairs and len(set(pairs)) == len(pairs)


def _requests(run: Run) -> int:
    return run.requests


def _in_unit(spec: MetricSpec, unit: str) -> MetricSpec:
    return MetricSpec(
        spec.name, unit, spec.direction, spec.kind, spec.definition, spec.min_requests, spec.title
    )


def _comparable(samples: Samples) -> bool:
    """Tell whether both sides have values, and none that says "not measured" (a zero latency)."""
    values = (*samples.base, *samples.candidate)
    least = 0 if samples.spec.kind is Kind.SAMPLED else -1
    return bool(samples.base and samples.candidate) and min(values) > least
