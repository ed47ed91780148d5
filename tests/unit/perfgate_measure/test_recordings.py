"""The recordings of docs/reference/perf-gate-gpu.md give the figures that the page tells."""

import importlib.util
import json
import re
from pathlib import Path
from statistics import fmean, stdev
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
DATA = ROOT / "benchmarks" / "perfgate" / "data"
PAGE = (ROOT / "docs" / "reference" / "perf-gate-gpu.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (eager|graphs) \| `(\w+)` \| (\d+) \| ([\d.]+)% \| ([\d.]+)% \|", PAGE, re.MULTILINE)


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "false_alarms", ROOT / "benchmarks/perfgate/false_alarms.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FALSE_ALARMS = program()


def test_the_page_has_a_row_for_every_series() -> None:
    assert [(mode, metric) for mode, metric, *_ in ROWS] == list(FALSE_ALARMS.SERIES)


@pytest.mark.parametrize(("mode", "metric", "runs", "noise", "naive"), ROWS)
def test_noise_and_the_naive_rules_alarms_are_as_told(
    mode: str, metric: str, runs: str, noise: str, naive: str
) -> None:
    values = FALSE_ALARMS.series(DATA / "aa-h200.jsonl", mode, metric)
    assert len(values) == int(runs)
    assert f"{stdev(values) / fmean(values):.2%}" == f"{noise}%"
    assert f"{FALSE_ALARMS.naive(values, metric):.1%}" == f"{naive}%"


@pytest.mark.parametrize(("change", "blocked"), [(0.0, 0.0), (0.025, 0.0), (0.075, 1.0)])
def test_quiet_recordings_block_what_is_slower_and_nothing_else(change: float, blocked: float) -> None:
    values = FALSE_ALARMS.series(DATA / "aa-h200.jsonl", "graphs", "itl_median")
    assert FALSE_ALARMS.rates(values, "itl_median", change, 25).blocked == blocked


def test_verdicts_are_as_told() -> None:
    lines = (DATA / "verdicts-h200.jsonl").read_text(encoding="utf-8").splitlines()
    found = {row["workload"]: row["verdict"] for row in map(json.loads, lines)}
    assert found == {
        "slow3": "pass",
        "slow75": "fail",
        "slow10": "fail",
        "vram1": "fail",
        "vram5": "fail",
        "leaks": "fail",
        "wrongs": "invalid",
    }
