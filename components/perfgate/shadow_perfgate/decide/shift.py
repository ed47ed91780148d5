"""Shift between two groups of runs on the log scale: Hodges and Lehmann's estimate, bounds from ranks.

Positive is worse, whichever way the metric gets better: `sign` is +1 for lower-is-better and -1 otherwise.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, inf, log, nan, nextafter, sqrt
from statistics import NormalDist, fmean, stdev

from shadow_perfgate.decide import ranks

PAIRED_FROM = 10
"""Pairs from which differences within pairs are tested; fewer can't reach small p by signed ranks."""

_SORTED_LIMIT = 40_000


@dataclass(frozen=True, slots=True)
class Shift:
    """How much worse a candidate is than its base, on the log scale, and how sure that is."""

    estimate: float
    p: float
    """One-sided, for "worse than base"."""
    lower: float
    """One-sided 95 % bound; -inf when there are too few runs."""
    upper: float
    sigma: float
    """Standard deviation of a run on the log scale, about its CV; when paired, of what pairs leave of it."""
    n_base: int
    n_candidate: int
    paired: bool

    @property
    def mde(self) -> float:
        """Return the change detected with 95 % power at 1 % false alarms, as a share."""
        return as_share(_power_z() * self.sigma * sqrt(1 / self.n_base + 1 / self.n_candidate))


def shift(base: Sequence[float], candidate: Sequence[float], sign: int, *, paired: bool = False) -> Shift:
    """Compare positive values; with `paired`, values at the same place were measured as one pair."""
    old = [sign * log(value) for value in base]
    new = [sign * log(value) for value in candidate]
    if paired and len(old) == len(new) >= PAIRED_FROM:
        return _paired([c - b for b, c in zip(old, new, strict=True)])
    return _unpaired(sorted(old), sorted(new))


def _unpaired(old: list[float], new: list[float]) -> Shift:
    m, n = len(old), len(new)
    pick = _pairwise(old, new)
    middle = (m * n + 1) // 2
    margin = ranks.rank_sum_margin(m, n, 0.05)
    return Shift(
        estimate=(pick(middle) + pick(m * n + 1 - middle)) / 2,
        p=ranks.rank_sum_p(old, new),
        lower=_bound(pick, margin),
        upper=-_bound(lambda k: -pick(m * n + 1 - k), margin),
        sigma=_pooled(old, new),
        n_base=m,
        n_candidate=n,
        paired=False,
    )


def _paired(differences: list[float]) -> Shift:
    n = len(differences)
    total = n * (n + 1) // 2
    pick = _walsh(sorted(differences))
    middle = (total + 1) // 2
    margin = ranks.signed_rank_margin(n, 0.05)
    return Shift(
        estimate=(pick(middle) + pick(total + 1 - middle)) / 2,
        p=ranks.signed_rank_p(differences),
        lower=_bound(pick, margin),
        upper=-_bound(lambda k: -pick(total + 1 - k), margin),
        sigma=stdev(differences) / sqrt(2),
        n_base=n,
        n_candidate=n,
        paired=True,
    )


def _bound(pick: Callable[[int], float], margin: int) -> float:
    return pick(margin) if margin else -inf


def _pooled(old: Sequence[float], new: Sequence[float]) -> float:
    freedom = len(old) + len(new) - 2
    if freedom < 1:
        return inf
    return sqrt((_squares(old) + _squares(new)) / freedom)


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _pairwise(old: list[float], new: list[float]) -> Callable[[int], float]:
    """Return a function for the k-th smallest of all differences new - old; both are sorted."""
    if len(old) * len(new) <= _SORTED_LIMIT:
        differences = sorted(c - b for b in old for c in new)
        return lambda k: differences[k - 1]
    return lambda k: _bisect(
        lambda at: sum(bisect_right(new, b + at) for b in old), k, new[0] - old[-1], new[-1] - old[0]
    )


def _walsh(differences: list[float]) -> Callable[[int], float]:
    """Return a function for the k-th smallest mean of two differences, each with itself included."""
    n = len(differences)
    if n * n <= _SORTED_LIMIT:
        means = sorted((differences[i] + differences[k]) / 2 for i in range(n) for k in range(i, n))
        return lambda k: means[k - 1]

    def count(at: float) -> int:
        return sum(
            max(0, bisect_right(differences, 2 * at - value) - place)
            for place, value in enumerate(differences)
        )

    return lambda k: _bisect(count, k, differences[0], differences[-1])


def _bisect(count: Callable[[float], int], k: int, low: float, high: float) -> float:
    """Return the least value (to 1e-12) at or below which `count` finds k."""
    low, high = nextafter(low, -inf), nextafter(high, inf)
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if count(middle) >= k else (middle, high)
    return high


def cv(values: Sequence[float]) -> float:
    """Return the coefficient of variation of positive values by their logarithms; 0 for a single one."""
    return stdev(log(value) for value in values) if len(values) > 1 else 0.0


def as_share(shift_log: float) -> float:
    """Return a shift on the log scale as a share: 0.05 for 5 % worse; NaN for a bound that is none."""
    return expm1(shift_log) if abs(shift_log) < 700 else nan


def runs_needed(sigma: float, limit: float) -> int:
    """Return the runs a side that tell a change of half the `limit` from one and a half of it."""
    gap = log(1 + 1.5 * limit) - log(1 + 0.5 * limit)
    return max(5, int(2 * (sigma * _power_z() / gap) ** 2) + 1)


def _power_z() -> float:
    """Return z(0.99) + z(0.95): 1 % false alarms, 95 % power."""
    return NormalDist().inv_cdf(0.99) + NormalDist().inv_cdf(0.95)
