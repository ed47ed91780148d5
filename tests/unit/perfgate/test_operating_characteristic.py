"""The simulation behind the documented table, with fewer trials: few false alarms, few misses."""

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    path = Path(__file__).parents[3] / "benchmarks/perfgate/operating_characteristic.py"
    spec = importlib.util.spec_from_file_location("operating_characteristic", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pairs_alternate_and_carry_the_change(simulation: ModuleType) -> None:
    quiet = simulation.pairs(simulation.Noise("none", 1e-9), 0.075, random.Random(1))
    for _ in range(8):
        base, candidate = next(quiet)
        assert candidate / base == pytest.approx(1.075)


@pytest.mark.parametrize(
    ("change", "least", "most"),
    [(0.0, 0.0, 0.005), (0.025, 0.0, 0.01), (0.075, 0.95, 1.0), (0.10, 0.99, 1.0)],
)
@pytest.mark.parametrize("place", [0, 1, 4])
def test_the_gate_keeps_its_budget(
    simulation: ModuleType, place: int, change: float, least: float, most: float
) -> None:
    blocked, *_ = simulation.row(simulation.NOISES[place], change, 300)
    assert least <= blocked <= most


def test_one_value_against_one_cries_wolf(simulation: ModuleType) -> None:
    _, _, single, *_ = simulation.row(simulation.NOISES[2], 0.0, 300)
    assert single > 0.05


@pytest.mark.parametrize(("change", "least", "most"), [(0.0, 0.0, 0.01), (0.10, 0.95, 1.0)])
def test_six_metrics_share_the_budget(
    simulation: ModuleType, change: float, least: float, most: float
) -> None:
    blocked, _ = simulation.of_several(simulation.NOISES[1], change, 6, 100)
    assert least <= blocked <= most
