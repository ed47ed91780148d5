"""The recordings of docs/reference/perf-gate-gpu.md give the figures that the page tells."""

import importlib.util
import json
import re
from datetime import date
from pathlib import Path
from statistics import fmean, stdev
from types import ModuleType
from typing import Any

import pytest

from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.sampled import Look
from shadow_perfgate.decide.workload import decide_workload, over_gate
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Run, Session, Workload

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


TOGETHER = (("slow75", "slow10", "vram5"), ("slow3", "vram1"))
"""Workloads that one gate decided on."""


def recorded() -> dict[str, dict[str, Any]]:
    lines = (DATA / "verdicts-h200.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["workload"]: row for row in map(json.loads, lines)}


def side(row: dict[str, Any], which: str) -> Session:
    values = {metric["spec"]: metric[which] for metric in row["metrics"]}
    runs = tuple(
        Run({name: found[place] for name, found in values.items()}, pair=place, requests=1000)
        for place in range(6)
    )
    return Session(Workload(row["workload"]), runs, tuple(CANONICAL[name] for name in values))


@pytest.mark.parametrize("names", TOGETHER)
def test_the_rules_of_today_decide_the_recorded_runs_as_then(names: tuple[str, ...]) -> None:
    rows, rules, today = recorded(), Rules(), date(2026, 11, 30)
    look = Look(rules.alpha, last=True)
    decided = [
        decide_workload(side(rows[n], "base"), side(rows[n], "candidate"), rules, today, look) for n in names
    ]
    found = over_gate(decided, lambda _: rules, today)
    assert {one.workload: str(one.verdict) for one in found} == {n: rows[n]["verdict"] for n in names}
    for one in found:
        then = {metric["spec"]: metric["verdict"] for metric in rows[one.workload]["metrics"]}
        assert {m.spec.name: str(m.verdict) for m in one.metrics} == then
