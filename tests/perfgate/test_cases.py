"""The gate's input cases, by number, as black-box calls of the command line."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

B7 = [12.504, 12.670, 12.653, 12.436, 12.463, 12.434, 12.571]
SAME7 = [12.493, 12.593, 12.269, 12.696, 12.488, 12.585, 12.483]
SLOW7 = [13.449, 13.563, 13.611, 13.473, 13.479, 13.593, 13.383]
THROTTLED7 = [12.475, 12.578, 12.456, 12.498, 14.102, 14.310, 14.268]

Runs = Callable[[str, Sequence[float | None]], list[dict[str, Any]]]


@pytest.fixture
def compare(gate: Any, runs: Runs) -> Callable[..., Any]:
    def call(metric: str, base: Sequence[float | None], candidate: Sequence[float | None]) -> Any:
        old = gate.write("base.json", runs(metric, base))
        new = gate.write("candidate.json", runs(metric, candidate))
        return gate("compare", old, new)

    return call


def test_c01_same_code(compare: Any) -> None:
    result = compare("itl_median", B7, SAME7)
    assert result.code == 0
    for words in ("+0.2 %", "0.45", "+2.0 %", "PASS: 1 gated metrics within their limits"):
        assert words in result.output


def test_c02_clear_regression(compare: Any) -> None:
    result = compare("itl_median", B7, SLOW7)
    assert result.code == 1
    for words in ("+7.8 % > 5 %", "p 0.00029", "12.504 ms -> 13.479 ms", "limit 13.129 ms"):
        assert words in result.output


def test_c04a_exactly_the_limit_is_still_allowed(compare: Any) -> None:
    assert compare("itl_median", [100.0] * 5, [105.0] * 5).code == 0


def test_c04b_above_the_limit_without_variance(compare: Any) -> None:
    result = compare("itl_median", [100.0] * 5, [105.1] * 5)
    assert result.code == 1
    assert "+5.1 % > 5 %" in result.output


def test_c05a_throughput_is_better_when_higher(compare: Any) -> None:
    base = [998.1, 994.1, 1003.1, 1005.7, 997.6, 1004.4, 1008.3]
    slow = [928.5, 923.9, 932.6, 931.8, 938.2, 920.4, 925.1]
    result = compare("output_tps", base, slow)
    assert result.code == 1
    assert "+7.9 % > 5 %" in result.output
    assert compare("output_tps", slow, base).code == 0


def test_c06a_small_change_of_memory(compare: Any) -> None:
    result = compare("peak_vram_allocated", [15872], [15936])
    assert result.code == 0
    assert "+0.4 %" in result.output


def test_c06b_memory_climbs(compare: Any) -> None:
    result = compare("peak_vram_allocated", [15872], [16640])
    assert result.code == 1
    for words in ("+4.8 %", "768 MiB", "158.72 MiB"):
        assert words in result.output


@pytest.mark.parametrize("bad", [float("nan"), None, float("inf"), float("-inf")])
def test_c07_values_that_are_no_numbers(compare: Any, bad: float | None) -> None:
    result = compare("itl_median", B7, [*SAME7[:3], bad, *SAME7[4:]])
    assert result.code == 2
    assert "candidate.json: runs[3].metrics.itl_median" in result.output


def test_c12_throttled_runs(gate: Any, runs: Runs) -> None:
    slowed = runs("itl_median", THROTTLED7)
    for run in slowed[4:]:
        run["discarded"] = "throttled: HwThermalSlowdown"
    result = gate("compare", gate.write("base.json", runs("itl_median", B7)), gate.write("new.json", slowed))
    assert result.code == 3
    assert "3 of 7 runs throttled" in result.output
    assert "4 < 5 valid runs" in result.output


def test_c16_a_single_run_proves_nothing(compare: Any) -> None:
    result = compare("itl_median", [12.5], [13.25])
    assert result.code == 3
    assert "n 1 < 5, cannot test" in result.output
    assert "+6.0 %" in result.output


def test_c19a_leak(gate: Any, runs: Runs) -> None:
    leaking = runs("itl_median", SAME7)
    leaking[0]["series"] = {"vram_quiescent": {"unit": "MiB", "values": [18432 + 2 * i for i in range(60)]}}
    result = gate("compare", gate.write("base.json", runs("itl_median", B7)), gate.write("new.json", leaking))
    assert result.code == 1
    for words in ("2 MiB a batch", "94 MiB", "memory leak"):
        assert words in result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ('{"schema_version": 1, "workload": {"name": "x"}, "ru', "cut short"),
        ("\ufeff{}", "byte order mark"),
        ("[]", "expected one session"),
        ('{"workload": {"name": "x"}, "runs": []}', "has no runs"),
        ('{"workload": {"name": "x"}, "runs": [{"metrics": {}}]}', "0 metrics compared"),
        ('{"workload": {"name": "x", "name": "y"}, "runs": []}', "given twice: name"),
        ('{"runs": [{"metrics": {"itl_median": "12.5"}}]}', "workload: "),
        ('{"workload": {"name": "x"}, "runs": [{"metrics": {"itl": 1}}]}', "itl: no unit and direction"),
        ('{"schema_version": 2}', "reads up to 1"),
        ("\x00\x01", "not JSON"),
    ],
)
def test_c25_malformed_sessions(gate: Any, text: str, words: str) -> None:
    broken = gate.text("broken.json", text)
    result = gate("compare", broken, broken)
    assert result.code == 2
    assert words in result.output


def test_c25_missing_files_and_empty_folders(gate: Any) -> None:
    result = gate("compare", "nowhere.json", ".")
    assert result.code == 2
    assert "nowhere.json: cannot be read" in result.output
    result = gate("compare", ".", ".")
    assert result.code == 2
    assert "holds no *.json" in result.output


@pytest.mark.parametrize(
    ("limit", "code"),
    [("5", 2), ("0.05", 2), ('"5%"', 1), ('"105%"', 2), ('"5"', 2), ('"+5%"', 2), ('"5 %"', 2), ('"8%"', 0)],
)
def test_c27_one_documented_form_of_a_limit(gate: Any, runs: Runs, limit: str, code: int) -> None:
    gate.text("perfgate.toml", f"[metrics.itl_median]\nlimit = {limit}\n")
    old, new = (
        gate.write("base.json", runs("itl_median", B7)),
        gate.write("new.json", runs("itl_median", SLOW7)),
    )
    result = gate("compare", old, new)
    assert result.code == code
    if code == 2:
        assert "perfgate.toml: metrics.itl_median.limit: got" in result.output
        assert 'as text: "5%"' in result.output


def test_every_fault_of_a_configuration_is_named_at_once(gate: Any, runs: Runs) -> None:
    gate.text(
        "perfgate.toml",
        '[gate]\nlooks = [2]\nsurprise = 1\n[metrics.itl_median]\nlimit = 5\n[[waiver]]\nmetric = "x"\n',
    )
    old = gate.write("base.json", runs("itl_median", B7))
    result = gate("compare", old, old)
    assert result.code == 2
    for where in ("gate.surprise", "metrics.itl_median.limit", "waiver[0].reason", "waiver[0].expires"):
        assert f"perfgate.toml: {where}" in result.output


def test_a_vanished_workload_is_not_a_pass(gate: Any, runs: Runs) -> None:
    gate.write("base/a.json", runs("itl_median", B7), workload={"name": "decode"})
    gate.write("base/b.json", runs("itl_median", B7), workload={"name": "prefill"})
    gate.write("new/a.json", runs("itl_median", SAME7), workload={"name": "decode"})
    result = gate("compare", "base", "new")
    assert result.code == 2
    assert "'prefill' is in base but not in the candidate" in result.output


def test_a_renamed_metric_is_vanished_and_new_not_a_pass(gate: Any, runs: Runs) -> None:
    old = gate.write("base.json", runs("itl_median", B7))
    new = gate.write("new.json", runs("tpot_median", SLOW7))
    result = gate("compare", old, new)
    assert result.code == 2
    assert "itl_median is in base but not in the candidate" in result.output
    gate.text("perfgate.toml", '[aliases]\nitl_median = "tpot_median"\n[metrics.tpot_median]\nlimit = "5%"\n')
    assert gate("compare", old, new).code == 1


def test_wrong_units_are_refused_and_convertible_ones_converted(gate: Any, runs: Runs) -> None:
    old = gate.write("base.json", runs("itl_median", B7))
    seconds = [{"name": "itl_median", "unit": "s", "direction": "lower", "min_requests": 0}]
    new = gate.write("new.json", runs("itl_median", [v / 1000 for v in SLOW7]), metrics=seconds)
    assert gate("compare", old, new).code == 1
    memory = [{"name": "itl_median", "unit": "MiB", "direction": "lower"}]
    new = gate.write("new.json", runs("itl_median", SAME7), metrics=memory)
    result = gate("compare", old, new)
    assert result.code == 2
    assert "unit ms -> MiB" in result.output


def test_a_zero_baseline_is_never_a_ratio(compare: Any) -> None:
    result = compare("itl_median", [0.0] * 7, SAME7)
    assert result.code == 2
    assert "runs[0].metrics.itl_median: got 0 ms" in result.output
    assert compare("errors", [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]).code == 0


def test_a_candidate_cannot_switch_a_check_off_by_telling_less(gate: Any, runs: Runs) -> None:
    gate.text("perfgate.toml", '[metrics.ttft_p95]\nlimit = "5%"\n')

    def told(values: Sequence[float], **more: object) -> Any:
        return [{**run, "requests": 200, "output_digest": "aa", **more} for run in runs("ttft_p95", values)]

    old = gate.write("base.json", told(B7))
    assert gate("compare", old, gate.write("new.json", told(SAME7))).code == 0
    assert gate("compare", old, gate.write("new.json", told(SLOW7))).code == 1
    for less, words in (
        ({"requests": 20}, "requests of a run: 200 -> 20"),
        ({"requests": 0}, "requests of a run: 200 -> 0"),
        ({"output_digest": ""}, "output differs from base (aa -> none told"),
    ):
        result = gate("compare", old, gate.write("new.json", told(SLOW7, **less)))
        assert result.code == 2
        assert words in result.output
