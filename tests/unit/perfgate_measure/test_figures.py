"""Figures from replies, warm-up, order, outcome and advice: pure functions."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shadow_perfgate.engines.base import Reply
from shadow_perfgate.engines.torch_probe import union
from shadow_perfgate.measure import advice, figures, outcome
from shadow_perfgate.measure.order import interleaved
from shadow_perfgate.measure.plan import Plan, WarmUpLimits
from shadow_perfgate.measure.prompts import PromptSet
from shadow_perfgate.measure.sampler import Sample
from shadow_perfgate.measure.warmup import steady, warm_up
from shadow_perfgate.model import Run, WarmUp

MS = 1_000_000
STREAMED = Reply(0, (30 * MS, 42 * MS, 55 * MS), 55 * MS, 3, "1,2,3", input_tokens=60)


def test_a_streamed_reply_gives_every_latency() -> None:
    assert figures.raw([STREAMED]) == {"itl": [12.0, 13.0], "ttft": [30.0], "tpot": [12.5], "e2e": [55.0]}


def test_sequences_of_one_batch_share_their_gaps() -> None:
    assert figures.raw([STREAMED, STREAMED])["itl"] == [12.0, 13.0]
    assert figures.raw([STREAMED, STREAMED])["e2e"] == [55.0, 55.0]


def test_a_whole_answer_has_time_per_token_of_the_whole_request() -> None:
    found = figures.raw([Reply(0, (), 60 * MS, 3, "a b c")])
    assert found == {"itl": [], "ttft": [], "tpot": [20.0], "e2e": [60.0]}


def test_failed_requests_have_no_latency_and_are_counted() -> None:
    failed = Reply(0, done_ns=MS, error="HTTP 500")
    assert figures.raw([failed]) == {"itl": [], "ttft": [], "tpot": [], "e2e": []}
    assert figures.rates([(0, 100 * MS, [STREAMED, failed])]) == {
        "errors": 1.0,
        "output_tokens": 3.0,
        "output_tps": 30.0,
        "req_tps": 10.0,
        "prefill_tps": 2000.0,
    }


def test_percentiles_need_requests() -> None:
    values = {"itl": [float(n) for n in range(101)]}
    assert figures.latencies(values, 99) == {"itl_median": 50.0}
    assert figures.latencies(values, 100) == {"itl_median": 50.0, "itl_p95": 95.0}
    assert figures.latencies(values, 500)["itl_p99"] == 99.0


@given(st.lists(st.floats(0.001, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_lies_within_the_values(values: list[float], share: float) -> None:
    assert min(values) <= figures.percentile(values, share) <= max(values)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=20), st.integers(0, 10**12))
def test_latencies_do_not_depend_on_when_they_were_measured(gaps: list[int], start: int) -> None:
    def reply(at: int) -> Reply:
        times = tuple(at + sum(gaps[: place + 1]) for place in range(len(gaps)))
        return Reply(at, times, times[-1], len(times))

    assert figures.raw([reply(0)]) == figures.raw([reply(start)])


def test_overlapping_kernels_count_once() -> None:
    assert union([(0, 10), (5, 12), (20, 21), (20.5, 20.6)]) == pytest.approx(13.0)


def test_warm_up_ends_when_the_last_passes_agree() -> None:
    passes = iter([50.0, 36.0, 12.6, 12.5, 12.55, 99.0])
    found = warm_up(lambda: next(passes), WarmUpLimits())
    assert (found.passes, found.stable) == (5, True)


def test_warm_up_gives_up_and_says_so() -> None:
    passes = iter(range(1, 100))
    assert warm_up(lambda: float(next(passes)), WarmUpLimits(most=6)) == WarmUp(
        6, stable=False, medians=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    )


def test_the_first_passes_never_count_as_warm() -> None:
    assert not steady([1.0, 1.0, 1.0], WarmUpLimits(least=1))
    assert steady([1.0, 1.0, 1.0, 1.0], WarmUpLimits(least=1))
    assert steady([1.0, 1.0, 1.0], WarmUpLimits(least=0))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_no_number_is_never_steady(value: float) -> None:
    assert not steady([value] * 5, WarmUpLimits())


def test_arms_take_turns_in_going_first() -> None:
    order = list(interleaved(0, 4))
    assert "".join(arm[0] for _, _, arm in order) == "bccbbccb"
    assert [position for _, position, _ in order] == list(range(8))
    assert list(interleaved(2, 4)) == order[4:]


PLAN = Plan("tiny", "transformers", {}, PromptSet("x", "0" * 64, (("1", "hello"),)))


def told(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "windows": [(100, 200), (300, 400)],
        "metrics": {"itl_median": 12.5, "output_tokens": 10.0},
        "start_time": 0.4,
        "peaks": {"peak_vram_allocated": 765.1, "peak_vram_reserved": 806.0, "alloc_retries": 0.0},
        "kernel": {"gpu_ms_per_token": 1.8, "host_bound_share": 0.81},
        "samples": {"itl": [12.4, 12.6]},
        "quiescent": [],
        "host_quiescent": [],
        "quiescent_ns": [],
        "residual_mib": 32.0,
        "requests": 4,
        "digest": "abc",
    }
    return {**found, **changes}


def samples(**changes: Any) -> list[Sample]:
    one = Sample(
        0, device_mib=700.0, process_mib=650.0, events=0, clock_mhz=1980.0, power_w=120.0, host_mib=900.0
    )
    rows = [replace(one, at_ns=at, energy_j=at / 10) for at in range(0, 500, 25)]
    return [replace(row, **changes) if row.at_ns == 150 else row for row in rows]


def test_a_run_joins_both_views() -> None:
    run = outcome.run(told(), samples(device_mib=900.0), idle_mib=100.0, highest_clock=1980.0)
    assert run.metrics["peak_vram_device"] == 800.0
    assert run.metrics["peak_vram_process"] == 650.0
    assert run.metrics["peak_vram_allocated"] == 765.1
    assert run.metrics["energy_per_token"] == pytest.approx(2.0)
    assert run.conditions["energy_j"] == pytest.approx(20.0)
    assert run.conditions["sm_clock_median_mhz"] == 1980.0
    assert run.discarded == ""
    assert run.series["vram"].unit == "MiB"


def test_a_peak_outside_the_timed_passes_does_not_count() -> None:
    rows = [replace(row, device_mib=5000.0) if row.at_ns == 250 else row for row in samples()]
    assert outcome.run(told(), rows, 0.0, None).metrics["peak_vram_device"] == 700.0


def test_passes_shorter_than_the_period_take_the_nearest_sample() -> None:
    run = outcome.run(told(windows=[(151, 152)]), samples(device_mib=900.0), 0.0, None)
    assert run.metrics["peak_vram_device"] == 900.0


def test_nothing_is_claimed_without_a_gpu() -> None:
    plain = [Sample(at, host_mib=900.0) for at in range(0, 500, 25)]
    run = outcome.run(told(peaks={}, kernel=None, residual_mib=None), plain, None, None)
    assert set(run.metrics) == {"itl_median", "output_tokens", "start_time", "host_ram_peak"}
    assert set(run.series) == {"host_ram"}


def test_a_foreign_process_during_a_run_spoils_it() -> None:
    run = outcome.run(told(), samples(foreign=(4711,)), 0.0, None)
    assert run.discarded == "GPU was shared: foreign process 4711 during the timed passes"


def test_throttling_within_the_passes_spoils_a_run() -> None:
    rows = [replace(row, events=0x8) if row.at_ns in {325, 350} else row for row in samples()]
    run = outcome.run(told(), rows, 0.0, 1980.0)
    assert run.discarded == "throttled: HwSlowdown"
    assert run.conditions["share_HwSlowdown"] > 0


def test_memory_between_batches_comes_from_the_device_when_the_worker_cannot_tell() -> None:
    run = outcome.run(told(quiescent_ns=[110, 210, 310]), samples(), 0.0, None)
    assert run.series["vram_quiescent"].values == (700.0, 700.0, 700.0)


def runs(share: float, *itl: float) -> list[Run]:
    return [Run({"itl_median": value, "host_bound_share": share}) for value in itl]


def test_a_host_bound_workload_is_told_how_to_become_quiet() -> None:
    notes = advice.notes(PLAN, runs(0.81, 9.4, 12.0, 9.0), [WarmUp(8, stable=False)])
    assert notes[0].startswith("bound by the host: the GPU waits 81% of the time")
    assert 'quiet = "graphs"' in notes[0]
    assert notes[1].startswith("noise between fresh processes (CV): itl_median 16")
    assert notes[2].startswith("1 of 1 runs were not steady")


def test_a_quiet_gpu_bound_workload_needs_no_advice() -> None:
    notes = advice.notes(replace(PLAN, quiet="graphs"), runs(0.12, 2.5, 2.5, 2.51), [WarmUp(4)])
    assert notes == ("quietened by captured CUDA graphs", "bound by the GPU: it is busy 88% of the time")


def test_a_mode_that_was_never_calibrated_says_so() -> None:
    notes = advice.notes(replace(PLAN, quiet="compile"), runs(0.12, 2.5, 2.5, 2.51), [WarmUp(4)])
    assert "torch.compile, whose noise was never calibrated on a GPU" in notes[0]
