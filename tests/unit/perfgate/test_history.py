"""Main's history: steps, slow drift, what may be pruned."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate_sessions import latency
from shadow_perfgate.baseline.folder import FolderStore
from shadow_perfgate.baseline.history import lines, prunable
from shadow_perfgate.baseline.sessions import Entry, append, entries
from shadow_perfgate.config import Config
from shadow_perfgate.decide.history import drift, drifted, steps
from shadow_perfgate.model import Direction

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def noisy(levels: list[float], spread: float = 0.01, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [level * source.lognormvariate(0, spread) for level in levels]


def test_a_step_is_found_where_it_is() -> None:
    found = steps(noisy([100.0] * 40 + [106.0] * 20), Direction.LOWER, 0.02)
    assert [step.place for step in found] == [pytest.approx(40, abs=1)]
    assert found[0].change == pytest.approx(0.06, abs=0.01)


def test_a_step_up_of_throughput_is_for_the_better() -> None:
    found = steps(noisy([100.0] * 30 + [110.0] * 30), Direction.HIGHER, 0.02)
    assert found[0].change < 0


def test_there_and_back_are_two_steps() -> None:
    found = steps(noisy([100.0] * 30 + [108.0] * 30 + [100.0] * 30), Direction.LOWER, 0.02)
    assert [step.change > 0 for step in found] == [True, False]


def test_three_sessions_after_a_large_step_are_enough_and_two_are_not() -> None:
    assert steps(noisy([100.0] * 30 + [110.0] * 3), Direction.LOWER, 0.02)
    assert not steps(noisy([100.0] * 30 + [110.0] * 2), Direction.LOWER, 0.02)


def test_bytes_that_never_vary_show_a_step_at_once() -> None:
    found = steps([16000.0] * 30 + [16640.0] * 3, Direction.LOWER, 0.01)
    assert [(step.place, round(step.change, 3)) for step in found] == [(30, 0.04)]


def test_noise_is_no_step() -> None:
    alarms = sum(bool(steps(noisy([100.0] * 100, 0.02, seed), Direction.LOWER, 0.025)) for seed in range(60))
    assert alarms <= 1


@given(st.lists(st.floats(50, 60), max_size=7))
def test_short_histories_have_no_steps(values: list[float]) -> None:
    assert steps(values, Direction.LOWER, 0.01) == []
    assert drift(values, Direction.LOWER) is None


def test_slow_drift_is_seen_although_each_change_was_small() -> None:
    creeping = noisy([100.0 * 1.002**n for n in range(60)], 0.005)
    found = drift(creeping, Direction.LOWER)
    assert drifted(found, 0.05)
    assert not drifted(drift(creeping[::-1], Direction.LOWER), 0.05)
    assert drifted(drift(creeping[::-1], Direction.HIGHER), 0.05)
    assert not drifted(drift(noisy([100.0] * 60), Direction.LOWER), 0.05)


def test_lines_of_a_store_name_the_commit_of_a_step(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    for number in range(24):
        level = 12.5 if number < 14 else 13.5
        session = replace(
            latency(noisy([level] * 4, 0.004, number)), project="p", commit=f"{number:02d}" * 20
        )
        append(store, session, "main", NOW + timedelta(days=number))
        append(store, session, "mr/7", NOW + timedelta(days=number))
    [line] = lines(store, "p", Config(tmp_path / "perfgate.toml"))
    assert len(line.points) == 24
    assert any("step of +" in message and "141414141414" in message for message in line.messages())


def entry(key: str, days_ago: int, number: int) -> Entry:
    stamp = (NOW - timedelta(days=days_ago)).strftime("%Y%m%dT%H%M%SZ")
    return Entry(f"p/{key}/f/w/v1/sessions/{stamp}-aaaaaaaaaaaa-{number:08x}.json")


def test_pruning_keeps_the_newest_the_young_and_the_first() -> None:
    old = [entry("main", 400 - n, n) for n in range(100)]
    young = [entry("main", 50 - n, 1000 + n) for n in range(50)]
    gone = prunable([*old, *young], NOW, keep=60, days=180)
    assert gone == old[5:90]
    assert prunable([*old, *young], NOW, keep=200, days=180) == []


def test_sessions_of_merge_requests_go_by_age_alone() -> None:
    found = [entry("mr%2F7", 200, 1), entry("mr%2F7", 10, 2)]
    assert prunable(found, NOW, keep=100, days=180) == found[:1]


def test_other_files_in_a_store_are_no_sessions(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.create({"p/main/readme.json": b"{}", "p/main/x/index.json": b"{}"})
    assert entries(store, "") == []
