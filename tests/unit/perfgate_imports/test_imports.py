"""Results of other tools become sessions in our names and units; worthless ones are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from shadow_perfgate import imports
from shadow_perfgate.errors import InputError
from shadow_perfgate.model import Session

VLLM: dict[str, Any] = {
    "model_id": "acme/tiny",
    "num_prompts": 600,
    "completed": 600,
    "failed": 0,
    "request_rate": "inf",
    "max_concurrency": None,
    "output_throughput": 1001.6,
    "request_throughput": 7.8,
    "total_output_tokens": 76800,
    "median_ttft_ms": 31.5,
    "p99_ttft_ms": 60.0,
    "median_itl_ms": 12.5,
    "median_e2el_ms": 1620.0,
    "ttfts": [0.031, 0.032],
    "itls": [[0.0124, 0.0126], [0.0125]],
}
AIPERF: dict[str, Any] = {
    "request_latency": {"unit": "ms", "avg": 1620, "p50": 1600, "p95": 1700, "p99": 1800},
    "time_to_first_token": {"unit": "nanoseconds", "avg": 31e6, "p50": 30e6},
    "inter_token_latency": {"unit": "ms", "p50": 12.5},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 1000.0},
    "request_throughput": {"unit": "requests/sec", "avg": 7.8},
    "total_osl": {"unit": "tokens", "avg": 12800},
    "request_count": {"unit": "requests", "avg": 100},
    "input_config": {"endpoint": {"model_names": ["tiny"]}, "loadgen": {"concurrency": 8}},
    "was_cancelled": False,
}
LLAMA: list[dict[str, Any]] = [
    {
        "model_type": "llama 1B",
        "n_prompt": 512,
        "n_gen": 0,
        "avg_ts": 4000.0,
        "samples_ts": [3990.0, 4000.0, 4010.0],
    },
    {"model_type": "llama 1B", "n_prompt": 0, "n_gen": 128, "avg_ts": 80.0, "samples_ts": [79.0, 80.0, 81.0]},
]
GUIDELLM: dict[str, Any] = {
    "metadata": {"version": 2},
    "benchmarks": [
        {
            "config": {"strategy": {"type_": "constant", "rate": 4.0}},
            "metrics": {
                "request_totals": {"successful": 120, "incomplete": 0, "errored": 0, "total": 120},
                "request_latency": {"successful": {"median": 1.62, "percentiles": {"p95": 1.7, "p99": 1.8}}},
                "time_to_first_token_ms": {"successful": {"median": 31.5, "percentiles": {"p95": 40.0}}},
                "inter_token_latency_ms": {"successful": {"median": 12.5}},
                "output_tokens_per_second": {"successful": {"mean": 1000.0}},
                "requests_per_second": {"successful": {"mean": 7.8}},
                "output_token_count": {"successful": {"total_sum": 15360}},
            },
        }
    ],
}
PYTEST: dict[str, Any] = {
    "machine_info": {"cpu": {}},
    "benchmarks": [
        {
            "fullname": "tests/test_decode.py::test_decode",
            "params": {"batch": 4},
            "stats": {"median": 0.0125, "rounds": 3, "data": [0.0124, 0.0125, 0.0126]},
        }
    ],
}
OPTIMUM: dict[str, Any] = {
    "config": {"name": "tiny-decode"},
    "report": {
        "load": {
            "memory": {"unit": "MB", "max_allocated": 1900.0, "max_ram": 3000.0},
            "latency": {"values": [2.0]},
        },
        "prefill": {"memory": {"unit": "MB", "max_allocated": 2000.0}, "latency": {"values": [0.030, 0.032]}},
        "decode": {"throughput": {"value": 1000.0}, "memory": None},
        "per_token": {"latency": {"values": [0.0124, 0.0126]}},
    },
}


def read(folder: Path, document: object, name: str | None = None) -> tuple[Session, ...]:
    path = folder / "result.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return imports.read(path, name)


def test_vllm_is_in_ms_and_its_arrays_are_seconds(tmp_path: Path) -> None:
    (session,) = read(tmp_path, VLLM)
    run = session.runs[0]
    assert run.metrics == {
        "ttft_median": 31.5,
        "ttft_p99": 60.0,
        "itl_median": 12.5,
        "e2e_median": 1620.0,
        "output_tps": 1001.6,
        "req_tps": 7.8,
        "errors": 0.0,
        "output_tokens": 76800.0,
    }
    assert run.samples["itl"] == pytest.approx((12.4, 12.6, 12.5))
    assert session.workload.arguments["request_rate"] == "inf"
    assert {spec.definition for spec in session.metrics} == {"vllm"}


def test_results_appended_to_one_file_are_runs_of_one_session(tmp_path: Path) -> None:
    text = json.dumps(VLLM) + "\n" + json.dumps({**VLLM, "median_itl_ms": 13.0})
    (session,) = read(tmp_path, text)
    assert [run.metrics["itl_median"] for run in session.runs] == [12.5, 13.0]


def test_a_percentile_of_few_requests_is_left_out(tmp_path: Path) -> None:
    (session,) = read(tmp_path, {**VLLM, "completed": 100})
    assert "ttft_p99" not in session.runs[0].metrics


def test_vllms_latency_benchmark_is_end_to_end(tmp_path: Path) -> None:
    (session,) = read(tmp_path, {"avg_latency": 1.5, "latencies": [1.4, 1.5, 1.9]})
    assert session.runs[0].metrics == {"e2e_median": 1500.0}
    assert any("one process" in note for note in session.notes)


@pytest.mark.parametrize("nested", [False, True])
def test_aiperf_brings_its_own_units(tmp_path: Path, *, nested: bool) -> None:
    records = {key: value for key, value in AIPERF.items() if isinstance(value, dict) and "unit" in value}
    rest = {key: value for key, value in AIPERF.items() if key not in records}
    (session,) = read(tmp_path, {"records": records, **rest} if nested else AIPERF)
    metrics = session.runs[0].metrics
    assert metrics["ttft_median"] == pytest.approx(30.0)
    assert metrics["e2e_p95"] == 1700
    assert metrics["output_tps"] == 1000.0
    assert "e2e_p99" not in metrics
    assert session.workload.name == "tiny"
    assert session.workload.arguments == {"concurrency": "8"}


def test_llama_bench_gives_a_workload_per_test(tmp_path: Path) -> None:
    prompt, generation = read(tmp_path, LLAMA)
    assert prompt.workload.name == "pp512"
    assert prompt.runs[0].metrics == {"prefill_tps": 4000.0, "ttft_median": pytest.approx(128.0)}
    assert generation.workload.name == "tg128"
    assert generation.runs[0].metrics == {"output_tps": 80.0, "itl_median": 12.5}


def test_llama_bench_as_lines_reads_the_same(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(test) for test in LLAMA)
    assert read(tmp_path, lines) == read(tmp_path, LLAMA)


def test_guidellm_counts_successes_and_turns_its_seconds_into_ms(tmp_path: Path) -> None:
    (session,) = read(tmp_path, GUIDELLM)
    metrics = session.runs[0].metrics
    assert metrics["e2e_median"] == pytest.approx(1620.0)
    assert metrics["e2e_p95"] == pytest.approx(1700.0)
    assert metrics["itl_median"] == 12.5
    assert metrics["output_tokens"] == 15360
    assert session.workload.name == "constant"


def test_pytest_benchmark_is_in_seconds(tmp_path: Path) -> None:
    (session,) = read(tmp_path, PYTEST)
    assert session.runs[0].metrics == {"e2e_median": 12.5}
    assert session.workload.arguments == {"batch": "4"}


def test_optimum_benchmarks_megabytes_are_decimal(tmp_path: Path) -> None:
    (session,) = read(tmp_path, OPTIMUM)
    metrics = session.runs[0].metrics
    assert metrics["peak_vram_allocated"] == pytest.approx(2000e6 / 2**20)
    assert metrics["host_ram_peak"] == pytest.approx(3000e6 / 2**20)
    assert metrics["itl_median"] == pytest.approx(12.5)
    assert metrics["ttft_median"] == pytest.approx(31.0)
    assert "peak_vram_process" not in metrics


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "empty"),
        (json.dumps(VLLM)[:40], "cut off"),
        ({"hello": 1}, "no known result; expected one of vllm"),
        ("[]", "no result|no known result"),
        ({**VLLM, "completed": 0}, "completed is 0"),
        ({**VLLM, "completed": None}, "completed: got None, expected a number"),
        ({**VLLM, "median_itl_ms": 0}, "itl_median: got 0.0, expected a number above 0"),
        (json.dumps({**VLLM, "median_itl_ms": float("nan")}), "itl_median: got nan"),
        ({**AIPERF, "was_cancelled": True}, "was_cancelled"),
        ({**AIPERF, "inter_token_latency": {"unit": "furlongs", "p50": 1}}, "furlongs"),
        ([{**LLAMA[1], "samples_ts": [0.0], "avg_ts": 0.0}], "output_tps: got 0.0"),
        ({**PYTEST, "benchmarks": []}, "holds no result"),
    ],
)
def test_worthless_files_are_refused(tmp_path: Path, document: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, document)


def test_failed_requests_make_a_guidellm_report_worthless(tmp_path: Path) -> None:
    broken = json.loads(json.dumps(GUIDELLM))
    broken["benchmarks"][0]["metrics"]["request_totals"]["errored"] = 3
    with pytest.raises(InputError, match=r"benchmarks\[0\].*3 requests failed"):
        read(tmp_path, broken)


def test_a_named_format_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a result of aiperf; it looks like vllm"):
        read(tmp_path, VLLM, "aiperf")
    with pytest.raises(InputError, match="expected one of vllm, aiperf"):
        read(tmp_path, VLLM, "jmeter")


def test_all_broken_files_are_named_at_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("{", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        imports.read_all([tmp_path / "one", tmp_path / "two", tmp_path / "three"])
    assert [Path(fault.partition(":")[0]).name for fault in caught.value.faults] == ["one", "two", "three"]


def test_files_of_one_workload_become_runs_of_one_session(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        document = {**VLLM, "median_itl_ms": 12 + number}
        (tmp_path / f"{number}.json").write_text(json.dumps(document), encoding="utf-8")
    (session,) = imports.read_all(sorted(tmp_path.glob("*.json")))
    assert [run.metrics["itl_median"] for run in session.runs] == [13, 14, 15]
