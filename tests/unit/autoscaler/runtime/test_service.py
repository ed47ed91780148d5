"""A service over the fakes: the way of a job, and what interrupts it."""

from typing import Any

import pytest

from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import JobStatus
from shadow_autoscaler.core.machines import Phase
from shadow_autoscaler.ports import Delivery


def test_a_waiting_job_gets_a_vm_runs_once_and_leaves_nothing(rig: Any) -> None:
    key = rig.queue()
    rig.settle(300)
    assert rig.github.truth()[key].conclusion == "success"
    assert rig.github.starts[key] == 1
    assert not rig.cloud.truth()
    assert not rig.github.registrations()
    assert rig.faults.calls["cloud.create"] == 1
    assert [vm.phase for vm in rig.store.load().vms.values()] == [Phase.GONE]


def test_case_1_deliveries_said_twice_make_one_vm(rig: Any) -> None:
    rig.guests = False
    key = rig.queue()
    ((delivery, event),) = rig.events.items()
    twin = Delivery("event-other-guid", "github", "event", delivery.encode(), rig.clock.now())
    again = Delivery(delivery, "github", "event", delivery.encode(), rig.clock.now())
    assert rig.store.accept([again, again, twin]) == [True, True, True]
    rig.settle(60)
    assert rig.store.accept([again, twin]) == [False, False]
    assert rig.faults.calls["cloud.create"] == 1
    assert event.facts.key == key


def test_case_1_a_delivery_whose_handling_failed_is_handled_the_next_time(rig: Any) -> None:
    rig.settle()
    rig.queue()
    rig.faults.script("store.commit", Failure(FailureKind.TRANSIENT, "disk full"))
    with pytest.raises(Exception, match="disk full"):
        rig.turns.work(float("inf"))
    assert not rig.service.engine.read(lambda state: state.jobs)
    rig.settle(300)
    assert rig.faults.calls["cloud.create"] == 1
    assert not rig.cloud.truth()


def test_a_delivery_that_cannot_be_understood_is_set_aside_and_holds_nothing_up(rig: Any) -> None:
    rig.store.accept([Delivery("odd", "vm", "status", b"{", 0.0), Delivery("none", "martian", "x", b"", 0.0)])
    key = rig.queue()
    rig.settle(300)
    assert rig.github.truth()[key].status is JobStatus.DONE
    assert set(rig.data.closed.items()) >= {("none", rig.data.closed["none"])}
    assert "not understood" in rig.data.closed["odd"]
    assert "not understood" in rig.data.closed["none"]


def test_a_fault_of_the_core_in_one_delivery_ends_in_the_delivery_being_set_aside(
    rig: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.settle()
    rig.queue()
    monkeypatch.setattr(rig.service.engine, "_decide", lambda *_: 1 / 0)
    for _ in range(4):
        rig.service.inbox.step()
        assert rig.store.inbox()
    rig.service.inbox.step()
    assert not rig.store.inbox()
    assert "ZeroDivisionError" in next(iter(rig.data.closed.values()))


def test_case_10_calls_stop_while_the_forge_asks_for_patience(rig: Any) -> None:
    rig.faults.script("github.register", Failure(FailureKind.THROTTLED, "secondary limit", 60.0))
    key = rig.queue()
    rig.settle(55)
    assert rig.faults.failed["github.register"] == 1
    paused = rig.faults.calls.copy()
    rig.settle(45)
    made = rig.faults.calls - paused
    assert not {verb for verb in made if verb.startswith("github.")}
    rig.settle(240)
    assert rig.github.truth()[key].conclusion == "success"
    assert not rig.github.registrations()


def test_case_10_a_burst_stays_below_the_ceiling_and_everything_is_served(rig: Any) -> None:
    keys = [rig.queue(6000 + number, seconds=120) for number in range(20)]
    most = 0
    for _ in range(400):
        rig.settle(5)
        most = max(most, len(rig.cloud.truth()))
    assert most == 3
    assert all(rig.github.truth()[key].conclusion == "success" for key in keys)
    assert all(rig.github.starts[key] == 1 for key in keys)
    assert not rig.cloud.truth()
    assert not rig.github.registrations()


def test_an_answer_that_never_came_is_looked_for_before_another_call(rig: Any) -> None:
    lost = Failure(FailureKind.UNKNOWN_OUTCOME, "connection reset by peer")
    rig.faults.script("cloud.create", lost, after=True)
    key = rig.queue()
    rig.settle(400)
    assert rig.faults.calls["cloud.create"] == 1
    assert rig.github.truth()[key].conclusion == "success"
    assert not rig.cloud.truth()


def test_a_lost_lease_ends_deciding_and_another_process_goes_on(rig: Any) -> None:
    key = rig.queue()
    rig.settle(10)
    first = rig.service
    rig.open()
    rig.settle(5)
    first.lease.step()
    assert not first.engine.active
    assert rig.service.engine.active
    assert not any(first.outbox.waiting().values())
    rig.settle(300)
    assert rig.github.truth()[key].conclusion == "success"
    assert rig.faults.calls["cloud.create"] == 1


def test_what_the_former_holder_still_does_is_not_written(rig: Any) -> None:
    rig.queue()
    rig.settle()
    first = rig.service
    rig.open()
    rig.service.lease.step()
    assert first.engine.active
    first.inbox.step()
    with pytest.raises(Exception, match="lease"):
        first.engine.settle(delivery_id="event-0")
    assert not first.engine.active
