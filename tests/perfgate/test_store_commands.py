"""Stored sessions on the command line: add, list, compare with, watch, prune."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

B7 = [12.504, 12.670, 12.653, 12.436, 12.463, 12.434, 12.571]
SLOW7 = [13.449, 13.563, 13.611, 13.473, 13.479, 13.593, 13.383]


@pytest.fixture
def write(gate: Any, runs: Callable[..., Any]) -> Callable[..., Path]:
    def make(name: str, values: list[float], **more: object) -> Path:
        return gate.write(name, runs("itl_median", values), project="acme/llm", **more)

    return make


@pytest.mark.parametrize(("policy", "code"), [("", 0), ("warn", 0), ("fail", 2), ("bootstrap", 0)])
def test_c09_an_empty_store(gate: Any, write: Callable[..., Path], policy: str, code: int) -> None:
    if policy:
        gate.text("perfgate.toml", f'[gate]\nmissing_baseline = "{policy}"\n')
    result = gate("baseline", "compare", write("new.json", B7))
    assert result.code == code
    assert "no baseline for fingerprint" in result.output
    assert gate("baseline", "list").output == ""


def test_added_sessions_are_the_baseline_and_never_block(gate: Any, write: Callable[..., Path]) -> None:
    source = random.Random(1)
    measured = [write(f"{n}.json", [v * source.lognormvariate(0, 0.003) for v in B7]) for n in range(4)]
    assert gate("baseline", "add", *measured).code == 0
    assert gate("baseline", "list").output.count(".json") == 4
    same = gate("baseline", "compare", write("same.json", B7))
    assert same.code == 0
    assert "4 stored sessions" in same.output or "against the stored baseline" in same.output
    slow = gate("baseline", "compare", write("slow.json", SLOW7))
    assert slow.code == 3
    assert "interleaved pairs have to decide" in slow.output


def test_history_shows_a_step_and_writes_a_page(gate: Any, write: Callable[..., Path]) -> None:
    source = random.Random(2)
    for number in range(14):
        level = 1.0 if number < 9 else 1.08
        values = [v * level * source.lognormvariate(0, 0.003) for v in B7]
        write(f"main/{number:02d}.json", values, commit=f"{number:02d}" * 20)
    assert gate("baseline", "add", "main").code == 0
    gate.text("perfgate.toml", 'project = "acme/llm"\n')
    result = gate("history", "--html", "history.html")
    assert result.code == 0
    assert "chat128/itl_median" in result.output
    assert "% at commit 090909090909" in result.output
    assert "<svg" in (gate.folder / "history.html").read_text(encoding="utf-8")


def test_history_of_nothing_says_how_it_comes_about(gate: Any) -> None:
    result = gate("history")
    assert result.code == 0
    assert "no sessions of main" in result.output


def test_pruning_asks_first_and_keeps_young_sessions(gate: Any, write: Callable[..., Path]) -> None:
    assert gate("baseline", "add", write("one.json", B7)).code == 0
    result = gate("baseline", "prune", "--days", "1")
    assert result.code == 0
    assert "would delete 0 of 1 sessions" in result.output
    assert gate("baseline", "prune", "--keep", "3").code == 2


def test_a_wrong_store_address_is_told(gate: Any, write: Callable[..., Path]) -> None:
    gate.text("perfgate.toml", '[store]\nurl = "ftp://x"\n')
    result = gate("baseline", "add", write("one.json", B7))
    assert result.code == 2
    assert "store.url: got 'ftp://x', expected folder:PATH" in result.output
