"""A retry adds to what was measured before: neither is it a second chance, nor are its tests for free."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate_sessions import latency
from shadow_perfgate.baseline.ancestry import Ancestry
from shadow_perfgate.baseline.folder import FolderStore
from shadow_perfgate.ci import Job
from shadow_perfgate.config import Config
from shadow_perfgate.decide.verdict import Decision, Verdict
from shadow_perfgate.errors import StoreError
from shadow_perfgate.gate.request import Setting, gate
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Progress

NOW = datetime(2026, 11, 30, tzinfo=UTC)
COMMIT = "c" * 40


class Machine:
    """Measures pairs whose candidate is slower by a factor, with a noise of its own each time it is asked."""

    def __init__(self, factor: float, cv: float, seed: int = 1) -> None:
        self.factor, self.cv, self.source = factor, cv, random.Random(seed)
        self.alone = 0

    def candidate(self, runs: int, progress: Progress) -> Session:
        """Measure for the stored baseline."""
        del progress
        self.alone += 1
        return latency([12.5 * self.factor] * runs)

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Measure pairs."""
        del progress
        return self._side(1.0, first, last), self._side(self.factor, first, last)

    def _side(self, factor: float, first: int, last: int) -> Session:
        values = [12.5 * factor * self.source.lognormvariate(0, self.cv) for _ in range(first, last)]
        made = latency(values)
        runs = tuple(replace(run, pair=first + n, position=2 * n) for n, run in enumerate(made.runs))
        return replace(made, runs=runs)


def setting(store: FolderStore, **job: object) -> Setting:
    return Setting(
        config=Config(Path("perfgate.toml"), project="acme/llm"),
        job=replace(Job(provider="gitlab", request="7", commit=COMMIT), **job),  # type: ignore[arg-type]
        store=store,
        ancestry=Ancestry("b" * 40, ("b" * 40,)),
        now=NOW,
        progress=lambda *_: None,
    )


def attempt(store: FolderStore, factor: float, cv: float, seed: int, **job: object) -> Decision:
    return gate({"chat128": Machine(factor, cv, seed)}, setting(store, **job))


def said(decision: Decision) -> str:
    return "\n".join(f.message for w in decision.workloads for f in w.findings)


def runs(decision: Decision) -> int:
    candidate = decision.workloads[0].candidate
    assert candidate is not None
    return len(candidate.runs)


def test_pairs_of_earlier_attempts_on_the_same_commit_count(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    first = attempt(store, 1.09, 0.003, 1)
    assert first.verdict is Verdict.FAIL
    assert runs(first) == 6
    # The same commit, now measured without the slow-down: twelve pairs, six of which were slow.
    second = attempt(store, 1.0, 0.003, 2)
    assert "attempt 2 on this commit: the 6 pairs measured before count too" in said(second)
    assert runs(second) >= 12
    pairs = [run.pair for run in second.workloads[0].candidate.runs]  # type: ignore[union-attr]
    assert len(set(pairs)) == len(pairs)
    third = attempt(store, 1.0, 0.003, 3)
    assert "attempt 3 on this commit" in said(third)
    assert "1/4 of alpha" in said(third)
    assert runs(third) > runs(second)


@pytest.mark.parametrize("job", [{"commit": "d" * 40}, {"request": "8"}, {"request": ""}, {"commit": ""}])
def test_another_commit_or_request_starts_anew(tmp_path: Path, job: dict[str, str]) -> None:
    store = FolderStore(tmp_path)
    attempt(store, 1.09, 0.003, 1)
    again = attempt(store, 1.09, 0.003, 2, **job)
    assert runs(again) == 6
    assert "attempt" not in said(again)


def test_a_retry_is_not_cleared_by_the_stored_baseline(tmp_path: Path) -> None:
    machine = Machine(1.09, 0.003)
    store = FolderStore(tmp_path)
    store.create({f"acme%2Fllm/main/f/w/v1/sessions/20261130T000000Z-{'b' * 12}-ab.json": b"{}"})
    gate({"chat128": machine}, setting(store))
    assert machine.alone == 1
    gate({"chat128": machine}, setting(store))
    assert machine.alone == 1
    # Another job's workload on the same commit is no retry.
    gate({"other": machine}, setting(store))
    assert machine.alone == 2


class Killed(Machine):
    """Its job is cancelled while the pairs after the first look are measured."""

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Measure pairs, once."""
        if first:
            raise KeyboardInterrupt
        return super().pairs(first, last, progress)


def test_a_job_that_is_cancelled_between_looks_is_an_attempt_too(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        gate({"chat128": Killed(1.05, 0.02)}, setting(store))
    again = attempt(store, 1.05, 0.02, 3)
    assert "attempt 2 on this commit: the 6 pairs measured before count too" in said(again)
    measured = runs(again)
    assert measured > 12
    third = attempt(store, 1.05, 0.02, 3)
    assert f"attempt 3 on this commit: the {measured} pairs measured before count too" in said(third)
    pairs = [run.pair for run in third.workloads[0].candidate.runs]  # type: ignore[union-attr]
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("arms", ["bc", "c"])
def test_a_damaged_attempt_is_told_and_counts_without_its_pairs(tmp_path: Path, arms: str) -> None:
    store = FolderStore(tmp_path)
    store.create({f"acme%2Fllm/main/f/w/v1/sessions/20261130T000000Z-{'b' * 12}-ab.json": b"{}"})
    attempt(store, 1.09, 0.003, 1)
    for arm in arms:
        [kept] = (tmp_path / "acme%2Fllm" / "mr%2F7").rglob(f"*{arm}.json")
        kept.write_text("{", encoding="utf-8")
    machine = Machine(1.09, 0.003, 2)
    again = gate({"chat128": machine}, setting(store))
    assert machine.alone == 0
    assert runs(again) == 6
    assert "attempt 2 on this commit" in said(again)
    assert "1/2 of alpha" in said(again)
    assert "is damaged" in said(again)
    # The pairs of the whole attempt are still there for the third.
    third = attempt(store, 1.09, 0.003, 3)
    assert "attempt 3 on this commit: the 6 pairs measured before count too" in said(third)


def test_alpha_is_spent_over_attempts(tmp_path: Path) -> None:
    looks: list[float] = []
    store = FolderStore(tmp_path)
    for seed in range(4):
        # At the limit with much noise, so that the last look is reached and tells its alpha.
        found = attempt(store, 1.05, 0.02, seed).workloads[0]
        looks += [found.alpha] if found.alpha is not None else []
    assert looks
    assert len(set(looks)) == len(looks)
    assert sum(looks) <= 2 * 0.01 / 3


def test_a_store_that_refuses_is_told_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("store: 403")

    monkeypatch.setattr(FolderStore, "create", refuse)
    found = attempt(FolderStore(tmp_path), 1.09, 0.003, 1)
    assert found.verdict is Verdict.FAIL
    assert "store: 403; a retry cannot count this attempt's pairs" in said(found)
    monkeypatch.setattr(FolderStore, "names", refuse)
    assert attempt(FolderStore(tmp_path), 1.09, 0.003, 1).verdict is Verdict.FAIL


def test_half_an_attempt_counts_for_nothing(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    attempt(store, 1.09, 0.003, 1)
    [base] = tmp_path.rglob("*b.json")
    base.unlink()
    assert runs(attempt(store, 1.09, 0.003, 2)) == 6


def test_a_late_retry_of_the_forge_is_told_when_nothing_was_kept(tmp_path: Path) -> None:
    found = attempt(FolderStore(tmp_path), 1.0, 0.003, 1, attempt=3)
    assert found.notices == ("attempt 3: a pass after retries says less than a first one",)
