"""Watches main: steps in a metric's history, and a slow drift that no single merge request shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import median

from shadow_perfgate.decide import ranks
from shadow_perfgate.decide.leak import mann_kendall_p
from shadow_perfgate.decide.shift import as_share, shift
from shadow_perfgate.model import Direction

WINDOW = 30
"""Sessions on each side of a step that are compared."""
LEAST_AFTER = 3
"""Sessions after a step before it counts: one odd session is no step."""
LEAST_BEFORE = 5
SIGNIFICANT = 0.001
ENDS = 5
"""Sessions at either end of the history by which drift is judged."""
_TREND = 60
"""Points to which a long history is thinned for the trend test."""


@dataclass(frozen=True, slots=True)
class Step:
    """A lasting change of a metric between two sessions of main."""

    place: int
    """Index of the first session after it."""
    change: float
    """Share by which it got worse; negative for better."""
    p: float


@dataclass(frozen=True, slots=True)
class Drift:
    """How much worse the newest sessions are than the oldest."""

    change: float
    p: float
    """Of the difference between both ends."""
    trend_p: float


def steps(values: Sequence[float], direction: Direction, least: float) -> list[Step]:
    """Return the steps in positive `values` (one per session) of at least `least` as a share, in order."""
    sign = -1 if direction is Direction.HIGHER else 1
    logs = [sign * log(value) for value in values]
    return sorted(_split(logs, 0, len(logs), least), key=lambda step: step.place)


def _split(logs: Sequence[float], start: int, end: int, least: float) -> list[Step]:
    best = min(
        (
            step
            for place in range(start + LEAST_BEFORE, end - LEAST_AFTER + 1)
            if (step := _at(logs, start, place, end))
        ),
        key=lambda step: (step.p, -abs(step.change)),
        default=None,
    )
    if best is None or abs(best.change) < least:
        return []
    return [best, *_split(logs, start, best.place, least), *_split(logs, best.place, end, least)]


def _at(logs: Sequence[float], start: int, place: int, end: int) -> Step | None:
    before = logs[max(start, place - WINDOW) : place]
    after = logs[place : min(end, place + WINDOW)]
    change = median(after) - median(before)
    if change == 0:
        return None
    p = ranks.rank_sum_p(before, after) if change > 0 else ranks.rank_sum_p(after, before)
    return Step(place, as_share(change), p) if p < SIGNIFICANT else None


def drift(values: Sequence[float], direction: Direction) -> Drift | None:
    """Compare both ends of the history; None when it is too short."""
    if len(values) < 2 * ENDS:
        return None
    sign = -1 if direction is Direction.HIGHER else 1
    found = shift(values[:ENDS], values[-ENDS:], sign)
    stride = max(1, len(values) // _TREND)
    trend = mann_kendall_p([sign * value for value in values[::stride]])
    return Drift(as_share(found.estimate), found.p, trend)


def drifted(found: Drift | None, limit: float) -> bool:
    """Tell whether main got worse, little by little, by more than one change may."""
    return found is not None and found.change > limit and found.p < 0.01 and found.trend_p < 0.01
