"""A merge request is blocked by any metric of any workload, so all of them share one false-alarm rate."""

from datetime import date

import pytest

from gate_sessions import session
from shadow_perfgate.decide.rules import Role, Rules, Threshold, Waiver
from shadow_perfgate.decide.sampled import Look
from shadow_perfgate.decide.verdict import Verdict, WorkloadDecision
from shadow_perfgate.decide.workload import decide_workload, over_gate

TODAY = date(2026, 11, 30)
RULES = Rules()
BASE = [100.0, 104.0, 97.0, 101.0, 103.0, 98.0, 99.0]
# Above the limit by the estimate, its lower bound below: only the test's p decides.
WORSE = [108.0, 103.5, 109.0, 110.5, 104.5, 111.0, 102.0]


def decided(
    name: str, values: list[float], look: Look | None = None, **metrics: list[float]
) -> WorkloadDecision:
    base = session({"itl_median": BASE, **dict.fromkeys(metrics, BASE)}, workload=name)
    candidate = session({"itl_median": values, **metrics}, workload=name)
    return decide_workload(base, candidate, RULES, TODAY, look)


def gate(*workloads: WorkloadDecision) -> tuple[WorkloadDecision, ...]:
    return over_gate(workloads, lambda _: RULES, TODAY)


def test_one_workload_is_judged_as_before() -> None:
    alone = decided("a", WORSE)
    assert alone.verdict is Verdict.FAIL
    assert alone.metrics[0].lower is not None
    assert alone.metrics[0].lower < 0.05
    assert gate(alone) == (alone,)


def test_more_workloads_share_the_false_alarm_rate() -> None:
    found = gate(decided("a", WORSE), *(decided(f"same{n}", BASE) for n in range(9)))
    p = found[0].metrics[0].p
    assert p is not None
    assert found[0].metrics[0].p_holm == pytest.approx(10 * p)
    assert found[0].verdict is Verdict.INCONCLUSIVE
    assert "not significant" in found[0].metrics[0].message
    assert all(one.verdict is Verdict.PASS for one in found[1:])


def test_what_is_surely_too_slow_fails_beside_any_number_of_workloads() -> None:
    slow = decided("a", [value * 1.2 for value in BASE])
    found = gate(slow, *(decided(f"same{n}", BASE) for n in range(9)))
    assert found[0].verdict is Verdict.FAIL


def test_before_the_last_look_no_test_decides_and_nothing_is_judged_again() -> None:
    early = decided("a", WORSE, Look(0.003, last=False))
    assert gate(early, decided("b", BASE))[0] == early


def test_observed_and_exact_metrics_are_not_in_the_family() -> None:
    rules = Rules(thresholds={"ttft_median": Threshold(Role.OBSERVE, 0.05)})

    def one(name: str) -> WorkloadDecision:
        values = {"itl_median": WORSE, "ttft_median": WORSE, "peak_vram_allocated": [100.0] * 7}
        base = session({**values, "itl_median": BASE, "ttft_median": BASE}, workload=name)
        return decide_workload(base, session(values, workload=name), rules, TODAY)

    both = over_gate([one("a"), one("b")], lambda _: rules, TODAY)
    for found in both:
        by_name = {metric.spec.name: metric for metric in found.metrics}
        p = by_name["itl_median"].p
        assert p is not None
        assert by_name["itl_median"].p_holm == pytest.approx(2 * p)
        assert by_name["ttft_median"].p_holm == by_name["ttft_median"].p


def test_waivers_hold_for_what_is_judged_again() -> None:
    rules = Rules(waivers=(Waiver("itl_median", "agreed upon", TODAY, 0.5),))
    slow = session({"itl_median": [value * 1.2 for value in BASE]}, workload="a")
    one = decide_workload(session({"itl_median": BASE}, workload="a"), slow, rules, TODAY)
    found = over_gate([one, decided("b", BASE)], lambda _: rules, TODAY)[0]
    assert found.metrics[0].p_holm != one.metrics[0].p_holm
    assert found.verdict is Verdict.PASS
    assert found.metrics[0].waiver is not None
