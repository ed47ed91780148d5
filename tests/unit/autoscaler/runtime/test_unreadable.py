"""A state that cannot be read: told once, nothing is decided, and it goes on when it can be read."""

import logging
from typing import Any

import pytest

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.runtime.engine import DecideError

BROKEN = Failure(FailureKind.CONFIG, "store x: 1 row(s) cannot be read: vm gpu-1: market")


@pytest.fixture(name="unreadable")
def unreadable_fixture(rig: Any, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    def load() -> None:
        raise PortError(BROKEN)

    monkeypatch.setattr(rig.store, "load", load)
    return monkeypatch


def test_it_is_told_once_and_nothing_is_decided(
    rig: Any, unreadable: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig.queue()
    with caplog.at_level(logging.ERROR):
        assert [rig.service.lease.step() > 5.0 for _ in range(3)] == [True] * 3
    assert not rig.service.engine.active
    assert rig.service.lease.fault == BROKEN.text
    assert [record.getMessage() for record in caplog.records] == [
        f"this process does not decide: {BROKEN.text}"
    ]
    assert rig.data.owner == ""  # whoever can read it may have the lease
    assert len(rig.store.inbox()) == 1


def test_it_goes_on_once_the_rows_can_be_read(rig: Any, unreadable: pytest.MonkeyPatch) -> None:
    key = rig.queue()
    rig.service.lease.step()
    unreadable.undo()
    rig.settle(300)
    assert rig.service.lease.fault == ""
    assert rig.github.truth()[key].conclusion == "success"


def test_trouble_that_passes_is_no_such_fault(rig: Any) -> None:
    rig.faults.script("store.load", Failure(FailureKind.TRANSIENT, "disk full"))
    with pytest.raises(PortError):
        rig.service.lease.step()
    assert rig.service.lease.fault == ""


def test_a_state_on_which_the_core_fails_is_told_until_it_no_longer_does(
    rig: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.settle()
    monkeypatch.setattr(rig.service.engine, "_decide", lambda *_: 1 / 0)
    with pytest.raises(DecideError):
        rig.service._tick()
    assert "the core fails on this state" in rig.service.fault
    assert "ZeroDivisionError" in rig.service.fault
    monkeypatch.undo()
    rig.service._tick()
    assert rig.service.fault == ""
