"""Deliveries are written in groups, and each sender learns what became of its own."""

import threading
from collections.abc import Sequence

import pytest

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.edge import intake
from shadow_autoscaler.edge.intake import FullError, Intake
from shadow_autoscaler.ports import Delivery
from shadow_autoscaler.testing.faults import FaultPlan
from shadow_autoscaler.testing.store import FakeStore


class SlowStore(FakeStore):
    """Holds the first write until told."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.go = threading.Event(), threading.Event()
        self.sizes: list[int] = []

    def accept(self, deliveries: Sequence[Delivery]) -> Sequence[bool]:
        self.sizes.append(len(deliveries))
        self.entered.set()
        assert self.go.wait(10)
        return super().accept(deliveries)


def delivery(number: int) -> Delivery:
    return Delivery(f"github-{number}", "github", "workflow_job", b"{}", 0.0)


def test_what_comes_during_a_write_is_written_together() -> None:
    store = SlowStore()
    writer = Intake(store, lambda: None)
    writer.start()
    first = writer.submit(delivery(0))
    assert store.entered.wait(10)
    others = [writer.submit(delivery(number)) for number in (1, 2, 3, 3)]
    store.go.set()
    assert [future.result(10) for future in (first, *others)] == [True] * 5
    assert store.sizes == [1, 4]
    writer.stop()


def test_a_handled_delivery_is_no_news() -> None:
    store = FakeStore()
    store.accept([delivery(1)])
    store.reject("github-1", "done")
    writer = Intake(store, lambda: None)
    writer.start()
    assert writer.submit(delivery(1)).result(10) is False
    writer.stop()


def test_a_failed_write_is_told_to_its_senders_and_the_next_one_goes_on() -> None:
    faults = FaultPlan()
    faults.script("store.accept", Failure(FailureKind.TRANSIENT, "disk full"))
    writer = Intake(FakeStore(faults=faults), lambda: None)
    writer.start()
    with pytest.raises(PortError, match="disk full"):
        writer.submit(delivery(1)).result(10)
    assert writer.submit(delivery(1)).result(10) is True
    writer.stop()


def test_senders_are_told_to_come_back_when_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "LIMIT", 2)
    writer = Intake(FakeStore(), lambda: None)
    futures = [writer.submit(delivery(number)) for number in (1, 2)]
    with pytest.raises(FullError, match="2 deliveries wait"):
        writer.submit(delivery(3))
    writer.start()
    assert [future.result(10) for future in futures] == [True, True]
    writer.stop()


def test_stopping_writes_what_waits_and_takes_nothing_more() -> None:
    store = FakeStore()
    writer = Intake(store, lambda: None)
    future = writer.submit(delivery(1))
    writer.start()
    writer.stop()
    assert future.result(0) is True
    with pytest.raises(FullError):
        writer.submit(delivery(2))
