"""A few scenarios with every kind of trouble; `python -m chaos` runs more, larger ones."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos import laws
from chaos.report import command, save
from chaos.scenario import EVERYTHING, Scenario, Trouble
from chaos.shrink import shrink
from chaos.simulation import Result, Simulation
from shadow_autoscaler.ports import ServerSpec

TESTS = Path(__file__).parents[1]
SEEDS = (1, 2, 3)
JOBS = 120


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep the log of thousands of planned faults out of the report."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _hold(result: Result, folder: Path) -> None:
    if result.breaches:
        path = save(Simulation(result.scenario, trace=True).run(), folder)
        pytest.fail(f"{result.breaches}\nTrace: {path}\nThis repeats and shrinks it: {command(result)}")


@pytest.mark.parametrize("seed", SEEDS)
def test_every_law_holds_whatever_happens(seed: int, tmp_path: Path) -> None:
    result = Simulation(Scenario(seed, JOBS)).run()
    _hold(result, tmp_path)
    assert result.figures["jobs"] == JOBS
    assert result.figures["calls failed"] > 10
    assert result.figures["process lives"] > 1


def test_without_trouble_every_job_succeeds_on_one_vm_each(tmp_path: Path) -> None:
    result = Simulation(Scenario(4, 60, frozenset())).run()
    _hold(result, tmp_path)
    assert result.figures["succeeded"] == result.figures["attempts"] == 60
    assert result.figures["servers"] <= 62
    assert result.figures["calls failed"] == 0


@pytest.mark.parametrize("seed", [20, 24, 26])
def test_no_job_pays_for_a_clock_that_is_set_or_a_machine_that_is_suspended(
    seed: int, tmp_path: Path
) -> None:
    result = Simulation(Scenario(seed, 40, frozenset({Trouble.CLOCK, Trouble.SUSPENDS}))).run()
    _hold(result, tmp_path)
    assert result.figures["succeeded"] == result.figures["attempts"] == 40


def test_reclaimed_jobs_run_again_and_end_well(tmp_path: Path) -> None:
    trouble = frozenset({Trouble.RECLAIMS, Trouble.SILENT_RECLAIMS})
    result = Simulation(Scenario(6, 150, trouble)).run()
    _hold(result, tmp_path)
    assert result.figures["lost to the cloud"] > 2
    # A forge may give the second attempt to a spot VM that fits and is idle; a third is not paid for.
    assert result.figures["succeeded"] >= result.figures["jobs"] - 2


def test_after_the_loss_of_the_store_jobs_run_on_and_their_servers_go_when_they_have_ended(
    tmp_path: Path,
) -> None:
    sim = Simulation(Scenario(1, 60, frozenset()))
    sim.clock.after(1800.0, sim.lose_store)
    result = sim.run()
    _hold(result, tmp_path)
    assert result.figures["succeeded"] == 60
    assert result.figures["process lives"] == 2


@pytest.mark.slow
def test_ten_thousand_jobs_over_days(tmp_path: Path) -> None:
    result = Simulation(Scenario(7, 10_000)).run()
    _hold(result, tmp_path)
    assert result.figures["days"] > 5


def test_the_laws_see_a_leak_a_loss_and_a_job_killed_by_us() -> None:
    sim = Simulation(Scenario(5, 5, frozenset()))
    sim.killings.append("job x was killed by our deletion of VM y")
    sim.run()
    assert "job x was killed by our deletion of VM y" in list(laws.finally_(sim))
    key = next(iter(next(iter(sim.attempts()))[1]))
    forge = sim.forges[key.forge]
    forge._change(key, conclusion="failure")
    assert any("lost" in breach for breach in laws.finally_(sim))
    sim.cloud._new(_spec())
    assert any("is left: BUILD" in breach for breach in laws.finally_(sim))


def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    program = (
        "import hashlib; from chaos.scenario import Scenario; from chaos.simulation import Simulation; "
        "trace = Simulation(Scenario(11, 40), trace=True).run().trace; "
        "print(len(trace), hashlib.sha256(repr(trace).encode()).hexdigest())"
    )
    outputs = {_run(program, seed) for seed in ("1", "2")}
    assert len(outputs) == 1
    assert int(next(iter(outputs)).split()[0]) > 100


def test_a_failing_scenario_is_shrunk_to_what_it_needs() -> None:
    def fails(scenario: Scenario) -> bool:
        return Trouble.CLOCK in scenario.trouble and scenario.jobs >= 20

    smallest = shrink(Scenario(1, 300), fails)
    assert smallest.trouble == {Trouble.CLOCK}
    assert 20 <= smallest.jobs < 30


def test_a_saved_trace_tells_how_to_repeat_it(tmp_path: Path) -> None:
    result = Simulation(Scenario(9, 3, frozenset({Trouble.STALE})), trace=True).run()
    text = save(result, tmp_path).read_text(encoding="utf-8")
    assert "REPLAY PYTHONPATH=tests python -m chaos --seed 9 --jobs 3 --trouble stale\n" in text
    assert "CreateServer(" in text


def test_every_kind_of_trouble_is_on_by_default() -> None:
    assert Scenario(1).trouble == EVERYTHING == frozenset(Trouble)


def _spec() -> ServerSpec:
    return ServerSpec("gpu-x", "rtx2000", {"vm": "gpu-x"}, "")


def _run(program: str, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": hash_seed}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
