"""Any value of any type anywhere in any file that is read: it is used or named, never a crash."""

import json
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gate_sessions import B7, SAME7, session
from shadow_perfgate import codec, imports
from shadow_perfgate.config import parse
from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.verdict import Decision
from shadow_perfgate.decide.workload import decide_workload
from shadow_perfgate.errors import PerfgateError
from shadow_perfgate.measure import plan_input
from shadow_perfgate.report import data

STRANGE: tuple[object, ...] = (
    None,
    True,
    -1,
    0,
    1e300,
    "",
    "x\x00",
    "5%",
    [],
    {},
    [[]],
    {"": None},
    ["a", 1],
)
CONFIG = """
project = "p"
prepare = [["true"]]
[gate]
main = "main"
alpha = 0.01
looks = [6]
noisy_looks = [6]
min_runs = 5
stored_runs = 0
missing_baseline = "warn"
rules_from = "base"
check_output = true
[metrics.itl_median]
limit = "5%"
floor = "1 ms"
role = "gate"
[metrics.own]
unit = "ms"
direction = "lower"
kind = "sampled"
definition = "1"
title = "t"
[leak]
role = "gate"
floor = "64 MiB"
min_batches = 60
[[waiver]]
metric = "itl_median"
workload = "w"
up_to = "8%"
reason = "long enough"
expires = 2999-01-01
[aliases]
old = "new"
[store]
url = "folder:x"
endpoint = "https://x"
region = "r"
[[workload]]
name = "w"
engine = "openai"
prompts = "decode-heavy"
output_tokens = 8
batch = 1
quiet = "eager"
python = "python3"
preload = ["json"]
gpu_time = true
timeout_s = 5
warmup_tolerance = 0.1
[workload.openai]
url = "http://127.0.0.1:1/v1"
model = "m"
chat = true
extra = {ignore_eos = true}
server = ["true"]
ready_s = 5
"""
# One document for each tool, in the form it writes.
RESULTS: dict[str, Any] = {
    "vllm": {
        "model_id": "m", "num_prompts": 600, "completed": 600, "failed": 0, "request_rate": "inf",
        "output_throughput": 1001.6, "median_ttft_ms": 31.5, "median_itl_ms": 12.5, "ttfts": [0.03],
        "itls": [[0.0124, 0.0126]],
    },
    "vllm latency": {"avg_latency": 1.5, "latencies": [1.5, 1.6], "percentiles": {"50": 1.5}},
    "aiperf": {
        "request_latency": {"unit": "ms", "p50": 1600}, "inter_token_latency": {"unit": "ms", "p50": 12.5},
        "time_to_first_token": {"unit": "ms", "p50": 30}, "request_count": {"unit": "requests", "avg": 100},
        "input_config": {"endpoint": {"model_names": ["tiny"]}}, "was_cancelled": False,
    },
    "llama-bench": [
        {"model_type": "l", "n_prompt": 512, "n_gen": 0, "avg_ts": 4000.0, "samples_ts": [3990.0]},
    ],
    "guidellm": {
        "metadata": {"version": 2},
        "benchmarks": [{
            "config": {"strategy": {"type_": "constant", "rate": 4.0}},
            "metrics": {
                "request_totals": {"successful": 120, "errored": 0},
                "request_latency": {"successful": {"median": 1.62, "percentiles": {"p95": 1.7}}},
                "inter_token_latency_ms": {"successful": {"median": 12.5}},
            },
        }],
    },
    "pytest-benchmark": {
        "machine_info": {"cpu": {}},
        "benchmarks": [
            {"fullname": "t", "params": {"n": 4}, "stats": {"median": 0.01, "rounds": 1, "data": [0.01]}},
        ],
    },
    "optimum-benchmark": {
        "config": {"name": "t"},
        "report": {
            "prefill": {"memory": {"unit": "MB", "max_allocated": 2.0}, "latency": {"values": [0.03]}},
            "decode": {"throughput": {"value": 1000.0}}, "per_token": {"latency": {"values": [0.01]}},
        },
    },
}  # fmt: skip


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of a document, the document itself first."""
    yield path
    named: Any = document.items() if isinstance(document, dict) else ()
    for step, value in enumerate(document) if isinstance(document, list) else named:
        yield from places(value, (*path, step))


def broken(document: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the document with each of its values replaced by each strange one, or left out."""
    for path in places(document):
        for strange in STRANGE:
            made = {"": deepcopy(document)}
            at: Any = made
            for step in ("", *path)[:-1]:
                at = at[step]
            at[("", *path)[-1]] = deepcopy(strange)
            yield path, made[""]


def read_config(table: Any, folder: Path) -> None:
    config = parse(table, folder / "perfgate.toml")
    plan_input.plans(config.workloads, "perfgate.toml", folder)


def read_session(document: Any, folder: Path) -> None:
    del folder
    found = codec.loads(json.dumps(document), "s.json")
    decide_workload(session({"itl_median": B7}), found, Rules(), date(2026, 11, 30))


def read_decision(document: Any, folder: Path) -> None:
    path = folder / "decision.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    data.read(path)


def whole_session() -> Any:
    document = json.loads(codec.dumps(session({"itl_median": SAME7[:2], "peak_vram_allocated": [5, 5]})))
    run = document["runs"][0]
    series = {"unit": "MiB", "values": [1.0, 2.0], "times_s": [0.0, 0.1]}
    run |= {"pair": 0, "discarded": "x", "output_digest": "ab", "series": {"vram_quiescent": series}}
    run |= {"samples": {"itl": [1.0]}, "conditions": {"power": 1.0}}
    return document | {"ci": {"url": "x"}, "command": ["x"], "warmup": {"passes": 1}, "notes": ["x"]}


def whole_decision() -> Any:
    given = session({"itl_median": B7[:2]})
    return json.loads(
        data.dumps(Decision((decide_workload(given, given, Rules(), date(2026, 11, 30)),), ("x",), "k"))
    )


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any, Path], None]]] = {
    "perfgate.toml": (lambda: tomllib.loads(CONFIG), read_config),
    "session": (whole_session, read_session),
    "decision": (whole_decision, read_decision),
}


@pytest.mark.parametrize(
    "table",
    [
        *({"openai": {"url": "http://x", key: value}} for key, value in (
            ("url", True), ("chat", 1), ("extra", []), ("ready_s", "5"), ("request_s", True), ("server", [1]),
        )),
        {"command": {"argv": ["true"], "metrics": ["x"]}},
        {"command": {"argv": ["true"], "metrics": {"x": 1}}},
        {"transformers": {"config": "x"}},
        {"callable": {"call": ["x"]}},
    ],
)  # fmt: skip
def test_an_option_of_a_wrong_kind_is_named(tmp_path: Path, table: dict[str, Any]) -> None:
    (engine,) = table
    with pytest.raises(PerfgateError) as caught:
        plan_input.plans([{"name": "w", "engine": engine, **table}], "perfgate.toml", tmp_path)
    assert caught.value.faults[0].startswith(f"perfgate.toml: workload[0].{engine}.")


def crashes(document: Any, read: Callable[[Any], object]) -> dict[str, str]:
    """Return what reading the broken forms of a document raised beside errors that name their faults."""
    found: dict[str, str] = {}
    for path, made in broken(document):
        place = ".".join(map(str, path))
        try:
            read(made)
        except PerfgateError as error:
            if not all(error.faults):
                found[place] = "an error without words"
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            found[place] = repr(error)
    return found


@pytest.mark.parametrize("name", CASES)
def test_own_files(tmp_path: Path, name: str) -> None:
    document, read = CASES[name]
    read(document(), tmp_path)
    assert not crashes(document(), lambda made: read(made, tmp_path))


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_other_tools(tmp_path: Path, name: str) -> None:
    file = tmp_path / "result.json"

    def read(document: Any) -> object:
        file.write_text(json.dumps(document), encoding="utf-8")
        return imports.read(file)

    assert read(RESULTS[name])
    assert not crashes(RESULTS[name], read)
