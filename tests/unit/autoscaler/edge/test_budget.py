"""How often a VM may call."""

from shadow_autoscaler.edge import budget as module
from shadow_autoscaler.edge.budget import Budget


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_allowed_then_one_call_in_a_while() -> None:
    clock = Clock()
    budget = Budget(clock, burst=3, every_s=2.0)
    assert [budget.spend("vm-1", "status") for _ in range(4)] == [0, 0, 0, 2]
    clock.now += 1.0
    assert budget.spend("vm-1", "status") == 1
    clock.now += 1.0
    assert budget.spend("vm-1", "status") == 0
    clock.now += 3600.0
    assert [budget.spend("vm-1", "status") for _ in range(4)] == [0, 0, 0, 2]


def test_neither_another_vm_nor_another_kind_of_call_pays_for_it() -> None:
    budget = Budget(Clock(), burst=1)
    assert budget.spend("vm-1", "status") == 0
    assert budget.spend("vm-1", "status") > 0
    assert budget.spend("vm-1", "reclaim") == 0
    assert budget.spend("vm-2", "status") == 0


def test_vms_that_have_been_quiet_are_forgotten() -> None:
    clock = Clock()
    budget = Budget(clock, burst=2, every_s=1.0)
    for number in range(module._MANY):
        budget.spend(f"vm-{number}", "status")
    clock.now += 10.0
    budget.spend("one more", "status")
    assert len(budget._buckets) == 1
