"""Metrics that do not vary: bytes, capacities and counts. Medians and extremes are compared, with a floor."""

from collections.abc import Callable
from statistics import median

from shadow_perfgate.decide.rules import Role
from shadow_perfgate.decide.samples import EPSILON, Samples
from shadow_perfgate.decide.shift import cv
from shadow_perfgate.decide.verdict import MetricDecision, Verdict
from shadow_perfgate.model import Direction, Kind
from shadow_perfgate.text import number, percent, quantity, share

STEADY = 0.001
"""Coefficient of variation of base's runs below which a metric counts as deterministic."""


def applies(samples: Samples) -> bool:
    """Tell whether a metric is decided here: counts, equal work, and what did not vary in base."""
    if samples.spec.kind is Kind.COUNT or samples.spec.direction is Direction.EQUAL:
        return True
    positive = min(samples.base) > 0 and min(samples.candidate) > 0
    return samples.spec.kind is Kind.DETERMINISTIC and (not positive or cv(samples.base) < STEADY)


def decide(samples: Samples) -> MetricDecision:
    """Decide on one metric that does not vary."""
    if samples.spec.direction is Direction.EQUAL:
        return _equal(samples)
    if samples.spec.kind is Kind.COUNT:
        return _count(samples)
    return _worse(samples, median)


def _count(samples: Samples) -> MetricDecision:
    worst_of: Callable[[tuple[float, ...]], float] = min if samples.sign < 0 else max
    old = worst_of(samples.base)
    if samples.spec.name == "errors" and old > samples.threshold.floor:
        message = (
            f"base itself failed {quantity(old, 'count')} requests in a run, so its numbers are no measure; "
            "mend base, or allow some with a floor"
        )
        return _decision(samples, Verdict.INVALID, message)
    return _worse(samples, worst_of)


def _worse(samples: Samples, typical: Callable[[tuple[float, ...]], float]) -> MetricDecision:
    old, new = typical(samples.base), typical(samples.candidate)
    worse = samples.sign * (new - old)
    allowed = max(samples.threshold.limit * abs(old), samples.threshold.floor)
    failed = worse > allowed + EPSILON * max(1.0, abs(old))
    unit = samples.spec.unit
    relative = f"{share(worse / old)}, " if old else ""
    message = (
        f"{relative}{quantity(new - old, unit)} ({quantity(old, unit)} -> {quantity(new, unit)}); "
        f"allowed {percent(samples.threshold.limit)} or {quantity(samples.threshold.floor, unit)}, "
        f"whichever is more: {quantity(allowed, unit)}"
    )
    change = worse / old if old else (0.0 if worse == 0 else None)
    return _decision(samples, Verdict.FAIL if failed else Verdict.PASS, message, change)


def _equal(samples: Samples) -> MetricDecision:
    old, new = samples.medians
    change = new / old - 1 if old else (0.0 if new == 0 else None)
    allowed = max(samples.threshold.limit * old, samples.threshold.floor)
    same = abs(new - old) <= allowed + EPSILON
    moved = f"{share(change)} ({number(old)} -> {number(new)})"
    text = f"{moved}, allowed {percent(samples.threshold.limit)} either way"
    message = text if same else f"{text}: the candidate did other work, so its speed says nothing"
    return _decision(samples, Verdict.PASS if same else Verdict.INVALID, message, change)


def _decision(
    samples: Samples, verdict: Verdict, message: str, change: float | None = None
) -> MetricDecision:
    observed = samples.role is Role.OBSERVE and samples.spec.direction is not Direction.EQUAL
    return MetricDecision(
        spec=samples.spec,
        role=samples.role,
        verdict=Verdict.PASS if observed else verdict,
        message=f"{message}; observe only" if observed else message,
        base=samples.base,
        candidate=samples.candidate,
        change=change,
        lower=change,
        upper=change,
        limit=samples.limit,
        mde=0.0,
    )
