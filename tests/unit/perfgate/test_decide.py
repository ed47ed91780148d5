"""Decisions on one workload: directions, floors, noise, validity, environment, leaks, waivers."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate_sessions import B7, SAME7, SLOW7, latency, session
from shadow_perfgate.decide.rules import LeakRule, Role, Rules, Threshold, Waiver, default_threshold
from shadow_perfgate.decide.sampled import Look, holm
from shadow_perfgate.decide.verdict import Verdict, worst
from shadow_perfgate.decide.workload import decide_workload
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Fingerprint, MetricSpec, Run, Series, Session

TODAY = date(2026, 11, 30)
RULES = Rules()


def verdict(base: Session, candidate: Session, rules: Rules = RULES) -> Verdict:
    return decide_workload(base, candidate, rules, TODAY).verdict


def rule_names(base: Session, candidate: Session, rules: Rules = RULES) -> set[str]:
    return {finding.rule for finding in decide_workload(base, candidate, rules, TODAY).findings}


def test_a_faster_candidate_passes_and_a_slower_one_fails() -> None:
    assert verdict(latency(B7), latency(SLOW7)) is Verdict.FAIL
    assert verdict(latency(SLOW7), latency(B7)) is Verdict.PASS


def test_direction_turns_the_verdict_around() -> None:
    assert verdict(session({"output_tps": B7}), session({"output_tps": SLOW7})) is Verdict.PASS
    assert verdict(session({"output_tps": SLOW7}), session({"output_tps": B7})) is Verdict.FAIL


@given(st.floats(1e-6, 1e6))
def test_the_unit_of_measurement_does_not_matter(factor: float) -> None:
    base, slow = latency([v * factor for v in B7]), latency([v * factor for v in SLOW7])
    assert verdict(base, slow) is Verdict.FAIL


def test_units_are_converted_before_comparing() -> None:
    in_seconds = latency([value / 1000 for value in SAME7])
    spec = replace(in_seconds.metrics[0], unit="s")
    assert verdict(latency(B7), replace(in_seconds, metrics=(spec,))) is Verdict.PASS


def test_another_kind_of_unit_is_refused() -> None:
    spec = replace(latency(B7).metrics[0], unit="MiB")
    assert verdict(latency(B7), replace(latency(SAME7), metrics=(spec,))) is Verdict.INVALID


@given(st.sampled_from([float("nan"), float("inf"), -1.0, 0.0]), st.integers(0, 6))
def test_no_number_that_is_none_ever_passes(bad: float, place: int) -> None:
    broken = [*SAME7[:place], bad, *SAME7[place + 1 :]]
    assert verdict(latency(B7), latency(broken)) is Verdict.INVALID
    assert verdict(latency(broken), latency(B7)) is Verdict.INVALID


def test_an_absolute_floor_lets_a_small_change_through() -> None:
    rules = Rules(thresholds={"itl_median": Threshold(Role.GATE, 0.05, floor=2.0)})
    assert verdict(latency(B7), latency(SLOW7), rules) is Verdict.PASS


def test_a_threshold_of_one_workload_goes_before_that_of_all() -> None:
    loose = Threshold(Role.GATE, 0.10)
    rules = Rules(thresholds={"itl_median": Threshold(Role.GATE, 0.01), "chat128/itl_median": loose})
    assert verdict(latency(B7), latency(SLOW7), rules) is Verdict.PASS


def test_observed_metrics_never_block() -> None:
    rules = Rules(thresholds={"itl_median": Threshold(Role.OBSERVE, 0.05)})
    assert verdict(latency(B7), latency(SLOW7), rules) is Verdict.PASS


def asked(session_: Session, requests: int, engine: str = "") -> Session:
    runs = tuple(replace(run, requests=requests) for run in session_.runs)
    return replace(session_, runs=runs, workload=replace(session_.workload, engine=engine))


def test_percentiles_on_few_requests_of_base_are_only_observed() -> None:
    rules = Rules(thresholds={"ttft_p99": Threshold(Role.GATE, 0.05)})
    base, slow = session({"ttft_p99": B7}), session({"ttft_p99": SLOW7})
    assert verdict(base, slow, rules) is Verdict.FAIL
    assert verdict(asked(base, 100), asked(slow, 100), rules) is Verdict.PASS


def test_a_candidate_that_serves_fewer_requests_did_other_work() -> None:
    rules = Rules(thresholds={"ttft_p99": Threshold(Role.GATE, 0.05)})
    base, few = session({"ttft_p99": B7}), asked(session({"ttft_p99": SLOW7}), 20)
    decision = decide_workload(base, few, rules, TODAY)
    assert decision.verdict is Verdict.INVALID
    assert "requests of a run: 1000 -> 20" in decision.findings[0].message
    assert verdict(base, asked(few, 0), rules) is Verdict.INVALID


def test_requests_of_benchmarks_that_run_for_a_time_only_keep_the_percentile_gated() -> None:
    rules = Rules(thresholds={"ttft_p99": Threshold(Role.GATE, 0.05)})
    base = session({"ttft_p99": B7})
    few = asked(session({"ttft_p99": SLOW7}), 20, "import:guidellm")
    assert verdict(asked(base, 1000, "import:guidellm"), few, rules) is Verdict.FAIL
    timed = replace(base, runs=(replace(base.runs[0], requests=990), *base.runs[1:]))
    assert verdict(timed, asked(session({"ttft_p99": SLOW7}), 20), rules) is Verdict.FAIL


def test_a_gated_metric_that_some_of_the_candidates_runs_lack_is_invalid() -> None:
    both = session({"itl_median": B7, "req_tps": [1.0] * 7})
    some, most = (
        replace(both, runs=tuple(replace(r, metrics={"req_tps": 1.0}) for r in both.runs[:n]) + both.runs[n:])
        for n in (1, 3)
    )
    decision = decide_workload(both, some, RULES, TODAY)
    assert decision.verdict is Verdict.INVALID
    assert "itl_median is missing from 1 of the candidate's 7 runs" in decision.findings[0].message
    assert verdict(some, some) is Verdict.PASS
    assert verdict(some, most) is Verdict.INVALID
    assert rule_names(some, both) == {"missing"}
    watched = Rules(thresholds={"itl_median": Threshold(Role.OBSERVE, 0.05)})
    assert verdict(both, some, watched) is Verdict.PASS


def test_noise_above_the_limit_is_inconclusive_and_says_what_it_supports() -> None:
    base = latency([12.63, 13.02, 12.14, 13.06, 10.34, 12.30])
    slow = latency([12.78, 10.59, 13.57, 13.80, 14.10, 14.9])
    decision = decide_workload(base, slow, RULES, TODAY)
    assert decision.verdict is Verdict.INCONCLUSIVE
    assert "support a limit of" in decision.metrics[0].message


def test_before_the_last_look_the_question_stays_open() -> None:
    base, near = latency(B7), latency([value * 1.047 for value in SAME7])
    first = decide_workload(base, near, RULES, TODAY, Look(0.0033, last=False))
    assert [metric.open for metric in first.metrics] == [True]


def test_vanished_gated_metrics_are_invalid_and_new_ones_a_notice() -> None:
    both = session({"itl_median": B7, "ttft_median": B7})
    assert verdict(both, latency(SAME7)) is Verdict.INVALID
    assert rule_names(latency(B7), both) == {"new"}


def test_an_alias_joins_a_renamed_metric() -> None:
    spec = MetricSpec("step_ms", "ms", latency(B7).metrics[0].direction)
    old = Session(latency(B7).workload, tuple(Run({"step_ms": v}) for v in B7), (spec,))
    rules = Rules(aliases={"step_ms": "itl_median"})
    new = replace(latency(SLOW7), fingerprint=Fingerprint())
    assert verdict(old, new) is Verdict.INVALID
    assert verdict(old, new, rules) is Verdict.FAIL


def test_nothing_in_common_is_invalid() -> None:
    rules = Rules(thresholds={"itl_median": Threshold(Role.OBSERVE, 0.05)})
    assert verdict(latency(B7), session({"req_tps": B7}), rules) is Verdict.INVALID


def test_other_work_is_invalid() -> None:
    other = latency(SAME7)
    other = replace(other, workload=replace(other.workload, output_tokens=32))
    assert verdict(latency(B7), other) is Verdict.INVALID


def test_other_output_length_is_invalid_even_when_faster() -> None:
    base = session({"itl_median": B7, "output_tokens": [6400] * 7})
    short = session({"itl_median": SAME7, "output_tokens": [5000] * 7})
    assert verdict(base, short) is Verdict.INVALID


def with_output(session_: Session, *digests: str) -> Session:
    runs = tuple(replace(run, output_digest=digests[i % len(digests)]) for i, run in enumerate(session_.runs))
    return replace(session_, runs=runs)


def test_a_faster_wrong_answer_is_no_win() -> None:
    base, wrong = with_output(latency(B7), "aa"), with_output(latency(SAME7), "bb")
    assert verdict(base, wrong) is Verdict.INVALID
    waiver = Waiver("output", "new tokenizer", date(2026, 12, 1))
    assert verdict(base, wrong, Rules(waivers=(waiver,))) is Verdict.PASS
    assert verdict(base, wrong, Rules(check_output=False)) is Verdict.PASS


def test_an_output_that_only_the_candidate_cannot_tell_is_invalid() -> None:
    base = with_output(latency(B7), "aa")
    for digests in ([""], ["aa", ""], ["aa", "bb"]):
        lost = with_output(latency(SAME7), *digests)
        assert verdict(base, lost) is Verdict.INVALID
        waiver = Waiver("output", "sampled from now on", date(2026, 12, 1))
        assert verdict(base, lost, Rules(waivers=(waiver,))) is Verdict.PASS
    assert verdict(latency(B7), base) is Verdict.PASS


def test_output_that_base_cannot_reproduce_is_a_notice() -> None:
    assert verdict(with_output(latency(B7), "aa", ""), with_output(latency(SAME7), "cc")) is Verdict.PASS
    assert verdict(with_output(latency(B7), "aa", "bb"), with_output(latency(SAME7), "cc")) is Verdict.PASS


def test_another_gpu_is_the_environment_not_a_regression() -> None:
    other = replace(latency(SLOW7), fingerprint=Fingerprint({"gpu": "A100", "driver": "580.159"}))
    decision = decide_workload(latency(B7), other, RULES, TODAY)
    assert decision.verdict is Verdict.ENVIRONMENT
    assert "gpu: H100-SXM-80GB -> A100" in decision.findings[0].message


def test_a_new_library_version_is_under_test_when_pairs_ran_on_one_machine() -> None:
    newer = Fingerprint({"gpu": "H100-SXM-80GB", "driver": "580.159", "torch": "2.12"})
    pairs = latency(B7, paired=True), replace(latency(SLOW7, paired=True), fingerprint=newer)
    assert verdict(*pairs) is Verdict.FAIL
    assert rule_names(*pairs) == {"software"}
    assert verdict(latency(B7), replace(latency(SLOW7), fingerprint=newer)) is Verdict.ENVIRONMENT


def throttled(session_: Session, *places: int) -> Session:
    runs = tuple(
        replace(run, discarded="throttled: HwThermalSlowdown") if place in places else run
        for place, run in enumerate(session_.runs)
    )
    return replace(session_, runs=runs)


def test_runs_are_discarded_with_their_partner() -> None:
    base, slow = latency(B7, paired=True), latency(SLOW7, paired=True)
    decision = decide_workload(throttled(base, 0), throttled(slow, 1), RULES, TODAY)
    assert [len(decision.metrics[0].base), len(decision.metrics[0].candidate)] == [5, 5]
    assert decision.verdict is Verdict.FAIL


def test_a_candidate_that_throttles_alone_is_not_excused() -> None:
    base, slow = latency(B7, paired=True), latency(SLOW7, paired=True)
    decision = decide_workload(base, throttled(slow, 0, 2, 4), RULES, TODAY)
    assert decision.verdict is Verdict.FAIL
    assert len(decision.metrics[0].candidate) == 7


def test_memory_that_climbs_fails_although_below_five_percent() -> None:
    vram = "peak_vram_allocated"
    assert verdict(session({vram: [15872]}), session({vram: [15936]})) is Verdict.PASS
    assert verdict(session({vram: [15872]}), session({vram: [16640]})) is Verdict.FAIL


def test_less_room_for_the_kv_cache_is_a_memory_regression() -> None:
    rules = Rules(thresholds={"kv_cache_tokens": Threshold(Role.GATE, 0.01)})
    before, after = session({"kv_cache_tokens": [31615.0]}), session({"kv_cache_tokens": [20865.0]})
    assert verdict(before, after, rules) is Verdict.FAIL
    assert verdict(after, before, rules) is Verdict.PASS


def test_one_failed_request_fails_and_zero_is_no_division() -> None:
    base = session({"itl_median": B7, "errors": [0.0] * 7})
    assert verdict(base, session({"itl_median": SAME7, "errors": [0.0] * 7})) is Verdict.PASS
    assert verdict(base, session({"itl_median": SAME7, "errors": [0.0] * 6 + [1.0]})) is Verdict.FAIL


def test_a_base_that_fails_requests_is_no_base() -> None:
    broken = session({"itl_median": B7, "errors": [2.0] * 7})
    assert verdict(broken, broken) is Verdict.INVALID


def leaking(slope: float, runs: int = 1) -> Session:
    series = Series("MiB", tuple(18432 + slope * i for i in range(60)))
    plain = latency(SAME7)
    changed = [replace(run, series={"vram_quiescent": series}) for run in plain.runs[:runs]]
    return replace(plain, runs=(*changed, *plain.runs[runs:]))


def test_a_leak_fails_with_its_slope_and_growth() -> None:
    decision = decide_workload(latency(B7), leaking(2), RULES, TODAY)
    assert decision.verdict is Verdict.FAIL
    assert "2 MiB a batch" in decision.findings[0].message
    assert "94 MiB" in decision.findings[0].message


def test_a_leak_of_main_does_not_block_the_candidate() -> None:
    assert verdict(leaking(2), leaking(2)) is Verdict.PASS
    assert verdict(leaking(2), leaking(8)) is Verdict.FAIL


def test_few_batches_claim_nothing() -> None:
    assert verdict(latency(B7), leaking(2), Rules(leak=LeakRule(min_points=100))) is Verdict.PASS


@pytest.mark.parametrize(
    ("up_to", "expires", "expected"),
    [
        (0.08, date(2026, 12, 1), Verdict.PASS),
        (0.08, TODAY, Verdict.PASS),
        (0.08, date(2026, 11, 29), Verdict.FAIL),
        (0.06, date(2026, 12, 1), Verdict.FAIL),
    ],
)
def test_a_waiver_accepts_what_it_says_until_its_day(up_to: float, expires: date, expected: Verdict) -> None:
    rules = Rules(waivers=(Waiver("itl_median", "safety filter", expires, up_to=up_to),))
    assert verdict(latency(B7), latency(SLOW7), rules) is expected


def test_holm_is_monotone_and_never_above_one() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]


def test_the_most_severe_verdict_counts() -> None:
    assert worst([Verdict.PASS, Verdict.FAIL, Verdict.ENVIRONMENT]) is Verdict.FAIL
    assert worst([]) is Verdict.PASS


@pytest.mark.parametrize(
    ("metric", "base", "candidate", "wanted"),
    [
        ("peak_vram_allocated", 15872, 15936, Verdict.PASS),
        ("peak_vram_allocated", 15872, 16640, Verdict.FAIL),
        # A small model: +5 % is less than what contexts and drivers may move.
        ("peak_vram_allocated", 848, 890, Verdict.FAIL),
        ("peak_vram_allocated", 2400, 2520, Verdict.FAIL),
        ("peak_vram_allocated", 848, 856, Verdict.PASS),
        ("peak_vram_allocated", 40, 48, Verdict.PASS),
        ("peak_vram_process", 1366, 1434, Verdict.PASS),
        ("peak_vram_process", 1366, 1500, Verdict.FAIL),
    ],
)
def test_memory_by_default_is_held_to_what_its_source_repeats(
    metric: str, base: float, candidate: float, wanted: Verdict
) -> None:
    usual = default_threshold(CANONICAL[metric])
    rules = Rules(thresholds={metric: replace(usual, role=Role.GATE)})
    assert verdict(session({metric: [base] * 6}), session({metric: [candidate] * 6}), rules) is wanted
