"""Quantiles of Student's t for whole degrees of freedom, from the finite series of its distribution."""

from functools import cache
from math import atan, cos, pi, sin, sqrt


def t_cdf(t: float, freedom: int) -> float:
    """Return P(T <= t) for `freedom` >= 1 degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = atan(t / sqrt(freedom))
    square = cos(angle) ** 2
    odd = freedom % 2
    term, total = (cos(angle), cos(angle)) if odd else (1.0, 1.0)
    for k in range(2 + odd, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    if not odd:
        return 0.5 + 0.5 * sin(angle) * total
    inner = sin(angle) * total if freedom > 1 else 0.0
    return 0.5 + (angle + inner) / pi


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """Return the t below which T lies with `probability` (0.5 to 1), to 1e-10."""
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        high *= 2
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < probability else (low, middle)
    return high
