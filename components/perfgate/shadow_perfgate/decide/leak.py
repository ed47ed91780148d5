"""Leak test on memory noted at quiescent points: a trend that goes on, no plateau, step or sawtooth."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import erfc, sqrt
from statistics import median

from shadow_perfgate.decide.rules import LeakRule

_SIGNIFICANT = 0.01
_SETTLING = 0.2
_GOES_ON = 0.25


@dataclass(frozen=True, slots=True)
class LeakResult:
    """What the trend test found in one series."""

    leak: bool
    slope: float
    """MiB per batch (Theil and Sen)."""
    growth: float
    """MiB over the points tested."""
    p: float
    step: float
    """Largest single rise in MiB, for telling a step from a leak."""
    points: int
    """Points given; with fewer than the rule asks for, nothing is claimed."""


def find_leak(values: Sequence[float], rule: LeakRule) -> LeakResult:
    """Test `values` (MiB after each batch); the first fifth is left out as settling."""
    tested = values[int(len(values) * _SETTLING) :]
    late = tested[len(tested) // 2 :]
    step = max((b - a for a, b in pairwise(tested)), default=0.0)
    if len(values) < rule.min_points:
        return LeakResult(leak=False, slope=0.0, growth=0.0, p=1.0, step=step, points=len(values))
    slope, late_slope, p = _theil_sen(tested), _theil_sen(late), mann_kendall_p(tested)
    growth = slope * (len(tested) - 1)
    goes_on = mann_kendall_p(late) < _SIGNIFICANT and late_slope > _GOES_ON * slope
    leak = p < _SIGNIFICANT and goes_on and growth > rule.floor
    return LeakResult(leak=leak, slope=slope, growth=growth, p=p, step=step, points=len(values))


def _theil_sen(values: Sequence[float]) -> float:
    """Return the median slope between all points, per step."""
    n = len(values)
    return median((values[k] - values[i]) / (k - i) for i in range(n) for k in range(i + 1, n))


def mann_kendall_p(values: Sequence[float]) -> float:
    """Return the one-sided p for a rising trend, corrected for ties."""
    n = len(values)
    score = sum((values[k] > values[i]) - (values[k] < values[i]) for i in range(n) for k in range(i + 1, n))
    ties = [values.count(value) for value in set(values)]
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    if score <= 0 or variance <= 0:
        return 1.0
    return 0.5 * erfc((score - 1) / sqrt(2 * variance))
