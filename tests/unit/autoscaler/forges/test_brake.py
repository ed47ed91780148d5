"""Pauses that a forge asks for, and the budget of writes."""

import pytest

from shadow_autoscaler.adapters.brake import Brake
from shadow_autoscaler.core.faults import FailureKind, PortError


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def left(brake: Brake, resource: str = "core") -> float | None:
    try:
        brake.check(resource)
    except PortError as error:
        found = error.failure
    else:
        return None
    assert found.kind is FailureKind.THROTTLED
    return found.retry_after_s


def test_a_pause_holds_for_as_long_as_the_forge_said() -> None:
    clock = Clock()
    brake = Brake(clock=clock)
    assert left(brake) is None
    assert brake.refused("", 7.0) == 7.0
    assert left(brake) == 7.0
    clock.now += 6.5
    assert left(brake) == 0.5
    clock.now += 0.5
    assert left(brake) is None


def test_a_limit_of_one_kind_of_call_leaves_the_others_alone() -> None:
    brake = Brake(clock=Clock())
    brake.refused("actions_runner_registration", 60.0)
    assert left(brake, "core") is None
    assert left(brake, "actions_runner_registration") == 60.0


def test_pauses_without_a_time_double_up_to_a_quarter_of_an_hour_and_begin_anew_after_a_success() -> None:
    brake = Brake(clock=Clock())
    assert [brake.refused("", None) for _ in range(6)] == [60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    brake.passed()
    assert brake.refused("", None) == 60.0


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    brake = Brake(clock=Clock())
    brake.refused("", 60.0)
    brake.refused("", 5.0)
    assert left(brake) == 60.0


def test_writes_over_the_minutes_budget_wait_for_the_first_of_them_to_age() -> None:
    clock = Clock()
    brake = Brake(writes_per_minute=2, clock=clock)
    brake.count_write()
    clock.now += 20
    brake.count_write()
    with pytest.raises(PortError) as caught:
        brake.count_write()
    assert caught.value.failure.retry_after_s == 40.0
    clock.now += 40
    brake.count_write()
