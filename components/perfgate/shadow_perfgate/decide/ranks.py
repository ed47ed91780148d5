"""Exact rank tests, with ties, for few runs; the normal approximation for many.

The null distributions are counted with generating polynomials whose coefficients are packed into one integer:
multiplying by `x**rank` is then a shift, and Python's big integers do the sum exactly.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import comb, erfc, sqrt
from statistics import NormalDist

EXACT_LIMIT = 50
"""Largest group for which the exact distribution is counted; above, the normal approximation is good."""


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, ties sharing their mean rank, so that ranks stay integers."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = start + end + 2
        start = end + 1
    return ranks


def rank_sum_p(base: Sequence[float], candidate: Sequence[float]) -> float:
    """Return the one-sided p of Mann and Whitney for "candidate is larger than base"."""
    ranks = doubled_ranks([*base, *candidate])
    observed = sum(ranks[len(base) :])
    if max(len(base), len(candidate)) > EXACT_LIMIT:
        return _rank_sum_p_normal(ranks, len(candidate), observed)
    counts = _choice_counts(tuple(sorted(ranks)), len(candidate))
    return sum(counts[observed:]) / comb(len(ranks), len(candidate))


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the one-sided p of Wilcoxon's signed ranks for "differences are larger than zero"."""
    moved = [value for value in differences if value != 0]
    if not moved:
        return 1.0
    ranks = doubled_ranks([abs(value) for value in moved])
    observed = sum(rank for rank, value in zip(ranks, moved, strict=True) if value > 0)
    if len(moved) > EXACT_LIMIT:
        return _signed_rank_p_normal(ranks, observed)
    counts = _subset_counts(tuple(sorted(ranks)))
    return sum(counts[observed:]) / (1 << len(moved))


@lru_cache(maxsize=256)
def rank_sum_margin(n_base: int, n_candidate: int, alpha: float) -> int:
    """Return the k for which the k-th smallest pairwise difference bounds the shift from below at 1 - alpha.

    0 means that so few runs give no bound.
    """
    if max(n_base, n_candidate) > EXACT_LIMIT:
        spread = sqrt(n_base * n_candidate * (n_base + n_candidate + 1) / 12)
        return max(0, int(n_base * n_candidate / 2 - _z(alpha) * spread))
    smallest = n_candidate * (n_candidate + 1)
    counts = _choice_counts(tuple(range(2, 2 * (n_base + n_candidate) + 1, 2)), n_candidate)[smallest::2]
    return _margin(counts, comb(n_base + n_candidate, n_candidate), alpha)


@lru_cache(maxsize=256)
def signed_rank_margin(pairs: int, alpha: float) -> int:
    """Return the k for which the k-th smallest Walsh average bounds the shift from below at 1 - alpha."""
    if pairs > EXACT_LIMIT:
        spread = sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24)
        return max(0, int(pairs * (pairs + 1) / 4 - _z(alpha) * spread))
    return _margin(_subset_counts(tuple(range(2, 2 * pairs + 1, 2)))[::2], 2**pairs, alpha)


def _margin(counts: Sequence[int], total: int, alpha: float) -> int:
    return sum(1 for below in accumulate(counts) if below <= alpha * total)


@lru_cache(maxsize=512)
def _choice_counts(ranks: tuple[int, ...], chosen: int) -> list[int]:
    """Return, for each sum, in how many ways `chosen` of the `ranks` have it."""
    width = comb(len(ranks), chosen).bit_length() // 8 + 1
    polynomials = [1] + [0] * chosen
    for done, rank in enumerate(ranks):
        for size in range(min(chosen, done + 1), 0, -1):
            polynomials[size] += polynomials[size - 1] << (8 * width * rank)
    return _coefficients(polynomials[chosen], width, sum(ranks) + 1)


@lru_cache(maxsize=512)
def _subset_counts(ranks: tuple[int, ...]) -> list[int]:
    """Return, for each sum, how many subsets of the `ranks` have it."""
    width = len(ranks) // 8 + 1
    polynomial = 1
    for rank in ranks:
        polynomial += polynomial << (8 * width * rank)
    return _coefficients(polynomial, width, sum(ranks) + 1)


def _coefficients(polynomial: int, width: int, count: int) -> list[int]:
    packed = polynomial.to_bytes(width * count, "little")
    return [int.from_bytes(packed[at : at + width], "little") for at in range(0, width * count, width)]


def _rank_sum_p_normal(ranks: Sequence[int], chosen: int, observed: int) -> float:
    total, mean = len(ranks), sum(ranks) / len(ranks)
    squares = sum((rank - mean) ** 2 for rank in ranks)
    variance = chosen * (total - chosen) * squares / (total * (total - 1))
    return _tail(observed - chosen * mean - 1, variance)


def _signed_rank_p_normal(ranks: Sequence[int], observed: int) -> float:
    return _tail(observed - sum(ranks) / 2 - 1, sum(rank * rank for rank in ranks) / 4)


def _tail(excess: float, variance: float) -> float:
    """Return the upper tail of a normal at `excess`; 1 is the continuity correction in doubled ranks."""
    return 0.5 * erfc(excess / sqrt(2 * variance)) if variance > 0 else 1.0


def _z(alpha: float) -> float:
    return NormalDist().inv_cdf(1 - alpha)
