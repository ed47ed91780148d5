"""Begins that break off, forges that are configured no more, and servers that cannot be looked at."""

from dataclasses import replace
from typing import Any

import pytest

from shadow_autoscaler.core.events import Tick
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.intents import CheckJob, CheckServer, RemoveRunner
from shadow_autoscaler.core.jobs import ForgeKind, JobStatus
from shadow_autoscaler.ports import Delivery, Outgoing


def test_a_begin_that_breaks_off_is_begun_anew_with_all_its_intents(rig: Any) -> None:
    key = rig.queue()
    rig.service.lease.step()
    rig.service.inbox.step()
    assert rig.store.outbox()
    rig.open()
    rig.faults.script("store.commit", Failure(FailureKind.TRANSIENT, "disk full"))
    with pytest.raises(PortError, match="disk full"):
        rig.service.lease.step()
    assert not rig.service.engine.active
    rig.settle(300)
    assert rig.github.truth()[key].conclusion == "success"
    assert rig.faults.calls["cloud.create"] == 1


def test_the_vms_of_a_forge_that_is_configured_no_more_are_deleted(rig: Any) -> None:
    rig.guests = False
    rig.queue()
    rig.settle(60)
    (vm,) = rig.store.load().vms.values()
    assert rig.call(vm.name, vm.server_id).status == 200
    engine = rig.service.engine
    engine.deployment = replace(engine.deployment, pools=())
    rig.service.world.forges.clear()
    for _ in range(10):
        engine.handle(Tick())
        rig.turns.work(float("inf"))
        rig.clock.advance(5.0)
    assert not rig.cloud.truth()


def test_what_is_asked_of_a_forge_that_is_configured_no_more_ends(rig: Any) -> None:
    key = rig.queue()
    rig.settle()
    rig.service.world.forges.clear()
    for intent in (CheckJob(key), RemoveRunner(ForgeKind.GITHUB, 7, "gpu-a-b-1")):
        outcome = rig.service.hands.carry_out(Outgoing(1, intent, 0.0))
        assert outcome.event is None
    assert rig.service.engine.read(lambda state: state.jobs[key].status) is JobStatus.QUEUED


def test_questions_about_a_server_that_nobody_can_answer_do_not_pile_up(rig: Any) -> None:
    rig.settle()
    rig.faults.script("cloud.server", Failure(FailureKind.TRANSIENT, "500"), times=100)
    row, asked = Outgoing(1, CheckServer("gpu-a", "s1"), 0.0), 0
    while hasattr(outcome := rig.service.hands.carry_out(row), "delay_s"):
        row, asked = replace(row, attempts=row.attempts + 1), asked + 1
        assert asked < 10
    assert outcome.event is None


@pytest.mark.parametrize("body", [b"null", b"[]", b"7", b"[" * 100_000])
def test_a_request_of_another_shape_is_set_aside_and_holds_nothing_up(rig: Any, body: bytes) -> None:
    rig.store.accept([Delivery("odd", "operator", "drain", body, 0.0)])
    key = rig.queue()
    rig.settle(300)
    assert "not understood" in rig.data.closed["odd"]
    assert rig.github.truth()[key].conclusion == "success"
