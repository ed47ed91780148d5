"""Stage 1 may pass and never blocks; stage 2 measures pairs until a decision stands."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pytest

from gate_sessions import latency, session
from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.stored import decide_stored
from shadow_perfgate.decide.verdict import Verdict, WorkloadDecision
from shadow_perfgate.errors import EnvironmentFaultError
from shadow_perfgate.gate.interleaved import decide_interleaved
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Progress

TODAY = date(2026, 11, 30)
RULES = Rules()


def stored(count: int, level: float = 12.5, between: float = 0.01, seed: int = 1) -> list[Session]:
    source = random.Random(seed)
    levels = [level * source.lognormvariate(0, between) for _ in range(count)]
    return [latency([v * source.lognormvariate(0, 0.005) for _ in range(5)]) for v in levels]


def test_an_unchanged_candidate_passes_on_stored_sessions() -> None:
    assert decide_stored(stored(10), stored(1, seed=2)[0], RULES, TODAY).verdict is Verdict.PASS


@pytest.mark.parametrize("level", [13.0, 14.0, 25.0])
def test_a_slower_candidate_is_never_blocked_by_stored_sessions(level: float) -> None:
    assert (
        decide_stored(stored(10), stored(1, level, seed=2)[0], RULES, TODAY).verdict is Verdict.INCONCLUSIVE
    )


def test_two_sessions_do_not_tell_how_sessions_vary() -> None:
    assert decide_stored(stored(2), stored(1, seed=2)[0], RULES, TODAY).verdict is Verdict.INCONCLUSIVE


def test_candidates_at_the_limit_pass_no_more_often_than_stated() -> None:
    passed = sum(
        decide_stored(stored(10, seed=n), stored(1, 12.5 * 1.05, seed=10_000 + n)[0], RULES, TODAY).verdict
        is Verdict.PASS
        for n in range(400)
    )
    assert passed / 400 <= 0.08


def test_more_memory_needs_pairs_and_other_output_too() -> None:
    lean, fat = (
        session({"peak_vram_allocated": [16000.0] * 4}),
        session({"peak_vram_allocated": [16800.0] * 4}),
    )
    assert decide_stored([lean] * 3, fat, RULES, TODAY).verdict is Verdict.INCONCLUSIVE
    assert decide_stored([lean] * 3, lean, RULES, TODAY).verdict is Verdict.PASS
    base = stored(10)
    told = [replace(s, runs=tuple(replace(r, output_digest="aa") for r in s.runs)) for s in base]
    other = replace(told[0], runs=tuple(replace(r, output_digest="bb") for r in told[0].runs))
    assert decide_stored(told, other, RULES, TODAY).verdict is Verdict.INCONCLUSIVE


@dataclass
class Scripted:
    """Gives pairs from two functions of the pair's number."""

    base: Callable[[int], float]
    candidate: Callable[[int], float]
    asked: list[tuple[int, int]] = field(default_factory=list)
    failures: int = 0

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Return the pairs asked for."""
        progress("pairs", 0, last - first)
        self.asked.append((first, last))
        if self.failures:
            self.failures -= 1
            raise EnvironmentFaultError("GPU is not empty")
        return self._side(self.base, first, last), self._side(self.candidate, first, last)

    def candidate_only(self) -> None:
        """Not used in stage 2."""

    @staticmethod
    def _side(value: Callable[[int], float], first: int, last: int) -> Session:
        made = latency([value(n) for n in range(first, last)], paired=True)
        runs = tuple(replace(run, pair=first + place) for place, run in enumerate(made.runs))
        return replace(made, runs=runs)


def decide(scripted: Scripted) -> WorkloadDecision:
    return decide_interleaved("chat128", scripted, RULES, TODAY, lambda *_: None)  # type: ignore[arg-type]


def wobble(level: float, spread: float, seed: int) -> Callable[[int], float]:
    values: Sequence[float] = [level * random.Random(seed + n).lognormvariate(0, spread) for n in range(40)]
    return values.__getitem__


def test_clear_cases_end_at_the_first_look() -> None:
    same = Scripted(wobble(12.5, 0.005, 100), wobble(12.5, 0.005, 900))
    slow = Scripted(wobble(12.5, 0.005, 100), wobble(13.6, 0.005, 900))
    assert decide(same).verdict is Verdict.PASS
    assert decide(slow).verdict is Verdict.FAIL
    assert same.asked == slow.asked == [(0, 6)]


def test_a_close_case_is_looked_at_again() -> None:
    near = Scripted(wobble(12.5, 0.02, 100), wobble(12.5 * 1.045, 0.02, 900))
    decision = decide(near)
    assert len(near.asked) > 1
    assert decision.looks == tuple(last for _, last in near.asked)
    assert [first for first, _ in near.asked][1:] == [last for _, last in near.asked][:-1]


def test_noisy_runs_get_more_pairs() -> None:
    noisy = Scripted(lambda n: 12.5 * (1 + 0.06 * (-1) ** n), lambda n: 12.5 * (1 + 0.06 * (-1) ** n))
    decide(noisy)
    assert noisy.asked[1][1] == 20


def test_an_unfit_machine_is_tried_once_more() -> None:
    once = Scripted(wobble(12.5, 0.005, 100), wobble(12.5, 0.005, 900), failures=1)
    assert decide(once).verdict is Verdict.PASS
    twice = Scripted(wobble(12.5, 0.005, 100), wobble(12.5, 0.005, 900), failures=2)
    decision = decide(twice)
    assert decision.verdict is Verdict.ENVIRONMENT
    assert decision.findings[0].message == "GPU is not empty"


def test_drift_over_the_session_is_no_regression() -> None:
    drifting = Scripted(lambda n: 12.5 * 1.01**n, lambda n: 12.5 * 1.01 ** (n + 0.5))
    assert decide(drifting).verdict is Verdict.PASS
