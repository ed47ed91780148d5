"""The exact rank tests and the shift's bounds, against SciPy and by hand."""

import math
import random
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shadow_perfgate.decide import ranks
from shadow_perfgate.decide.shift import shift
from shadow_perfgate.decide.student import t_cdf, t_quantile

values = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6)
tied = st.lists(st.integers(1, 4).map(float), min_size=2, max_size=5)


def by_enumeration(base: list[float], candidate: list[float]) -> float:
    doubled = ranks.doubled_ranks([*base, *candidate])
    observed = sum(doubled[len(base) :])
    sums = [sum(chosen) for chosen in combinations(doubled, len(candidate))]
    return sum(total >= observed for total in sums) / len(sums)


@given(tied, tied)
def test_rank_sum_with_ties_is_the_share_of_all_labellings(base: list[float], candidate: list[float]) -> None:
    assert ranks.rank_sum_p(base, candidate) == pytest.approx(by_enumeration(base, candidate))


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8))
def test_signed_rank_with_ties_is_the_share_of_all_signs(differences: list[float]) -> None:
    moved = [d for d in differences if d]
    doubled = ranks.doubled_ranks([abs(d) for d in moved])
    observed = sum(r for r, d in zip(doubled, moved, strict=True) if d > 0)
    sums = [
        sum(r for r, on in zip(doubled, signs, strict=True) if on)
        for signs in product((0, 1), repeat=len(moved))
    ]
    expected = sum(total >= observed for total in sums) / len(sums) if moved else 1.0
    assert ranks.signed_rank_p(differences) == pytest.approx(expected)


@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 9), (24, 24), (50, 50), (60, 70), (400, 300)])
def test_rank_sum_agrees_with_scipy(m: int, n: int) -> None:
    source = random.Random(m * n)
    base = [source.gauss(0, 1) for _ in range(m)]
    candidate = [source.gauss(0.3, 1) for _ in range(n)]
    method = "exact" if max(m, n) <= 50 else "asymptotic"
    expected = stats.mannwhitneyu(candidate, base, alternative="greater", method=method).pvalue
    assert ranks.rank_sum_p(base, candidate) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n", [7, 12, 40, 50])
def test_signed_rank_agrees_with_scipy(n: int) -> None:
    source = random.Random(n)
    differences = [source.gauss(0.2, 1) for _ in range(n)]
    expected = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert ranks.signed_rank_p(differences) == pytest.approx(expected, rel=1e-9)


def test_three_against_three_can_never_be_significant() -> None:
    assert ranks.rank_sum_p([1, 2, 3], [4, 5, 6]) == pytest.approx(0.05)
    assert ranks.rank_sum_margin(3, 3, 0.01) == 0


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30, 119])
@pytest.mark.parametrize("probability", [0.9, 0.95, 0.99])
def test_student_agrees_with_scipy(freedom: int, probability: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), abs=1e-7)
    assert t_cdf(-1.5, freedom) == pytest.approx(stats.t.cdf(-1.5, freedom), abs=1e-12)


@given(values, values)
def test_swapping_sides_turns_the_shift_around(base: list[float], candidate: list[float]) -> None:
    forth, back = shift(base, candidate, 1), shift(candidate, base, 1)
    assert forth.estimate == pytest.approx(-back.estimate, abs=1e-12)
    assert forth.lower == pytest.approx(-back.upper, abs=1e-12)


@given(values, values, st.floats(1e-3, 1e3))
def test_scaling_both_sides_changes_nothing(base: list[float], candidate: list[float], factor: float) -> None:
    plain = shift(base, candidate, 1)
    scaled = shift([v * factor for v in base], [v * factor for v in candidate], 1)
    assert scaled.estimate == pytest.approx(plain.estimate, abs=1e-9)


@given(values, values, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(
    base: list[float], candidate: list[float], source: random.Random
) -> None:
    shuffled = source.sample(base, len(base)), source.sample(candidate, len(candidate))
    assert shift(*shuffled, 1) == shift(base, candidate, 1)


@given(st.lists(st.floats(0.9, 1.1), min_size=10, max_size=14))
def test_paired_shift_ignores_drift_common_to_both(base: list[float]) -> None:
    candidate = [value * 1.05 for value in base]
    found = shift(base, candidate, 1, paired=True)
    assert found.paired
    assert found.estimate == pytest.approx(math.log(1.05))
    assert found.sigma == pytest.approx(0, abs=1e-12)


@settings(deadline=None)
@given(st.integers(0, 10))
def test_many_runs_give_what_sorting_all_differences_gives(seed: int) -> None:
    source = random.Random(seed)
    base = [source.lognormvariate(0, 0.02) for _ in range(210)]
    candidate = [source.lognormvariate(0.05, 0.02) for _ in range(205)]
    differences = sorted(math.log(c) - math.log(b) for b in base for c in candidate)
    middle = (differences[(len(differences) - 1) // 2] + differences[len(differences) // 2]) / 2
    assert shift(base, candidate, 1).estimate == pytest.approx(middle, abs=1e-9)


def test_bounds_hold_as_often_as_they_say() -> None:
    source = random.Random(7)
    held = 0
    for _ in range(2000):
        base = [source.lognormvariate(0, 0.02) for _ in range(7)]
        candidate = [source.lognormvariate(0.05, 0.02) for _ in range(7)]
        held += shift(base, candidate, 1).lower <= 0.05
    assert 0.94 <= held / 2000 <= 0.97
