"""Warm until the last passes agree; a fixed count is not enough (first passes took 3 to 4 times the rest)."""

from collections.abc import Callable, Sequence
from math import isfinite

from shadow_perfgate.measure.plan import WarmUpLimits
from shadow_perfgate.model import WarmUp


def steady(medians: Sequence[float], limits: WarmUpLimits) -> bool:
    """Return whether the last passes agree within the tolerance, the first `least` of them left out."""
    last = medians[max(limits.least, len(medians) - limits.agreeing) :]
    if len(last) < limits.agreeing or not all(isfinite(value) and value > 0 for value in last):
        return False
    return max(last) / min(last) - 1 <= limits.tolerance


def warm_up(one_pass: Callable[[], float], limits: WarmUpLimits) -> WarmUp:
    """Run passes, each giving its ms per token, until they agree or there were `most` of them."""
    medians: list[float] = []
    while len(medians) < limits.most:
        medians.append(one_pass())
        if steady(medians, limits):
            return WarmUp(len(medians), stable=True, medians=tuple(medians))
    return WarmUp(len(medians), stable=False, medians=tuple(medians))
