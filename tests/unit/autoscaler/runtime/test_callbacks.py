"""The VM protocol: who gets a configuration, when, and how often."""

import json
from dataclasses import replace
from typing import Any

import pytest

from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.edge.callbacks import Caller


@pytest.fixture(name="vm")
def vm_fixture(rig: Any) -> tuple[str, str]:
    """A VM that has booted and waits, as its name and its server's ID."""
    rig.guests = False
    rig.queue()
    rig.settle(40)
    ((server_id, server),) = rig.cloud.truth().items()
    return server.marks["vm"], server_id


def test_a_healthy_vm_gets_its_configuration_at_once(rig: Any, vm: tuple[str, str]) -> None:
    reply = rig.call(*vm)
    assert reply.status == 200
    assert reply.body == {"kind": "github", "jit_config": "jit-1001", "runner_name": f"{vm[0]}-1"}
    assert "jit-1001" not in repr(reply)


def test_asked_again_without_having_come_online_the_former_registration_goes_first(
    rig: Any, vm: tuple[str, str]
) -> None:
    first, second = rig.call(*vm), rig.call(*vm)
    assert (first.body["runner_name"], second.body["runner_name"]) == (f"{vm[0]}-1", f"{vm[0]}-2")
    assert set(rig.github.registrations()) == {f"{vm[0]}-2"}


def test_a_configuration_that_nobody_fetched_is_given_to_the_next_request(
    rig: Any, vm: tuple[str, str]
) -> None:
    body = json.dumps({"server_id": vm[1]}).encode()
    future = rig.callbacks.config(rig.caller(vm[0]), body)
    assert rig.callbacks.give_up(vm[0], future).status == 202
    rig.turns.work(float("inf"))
    assert rig.call(*vm).body["runner_name"] == f"{vm[0]}-1"
    assert rig.faults.calls["github.register"] == 1


def test_an_old_configuration_is_not_given_out(rig: Any, vm: tuple[str, str]) -> None:
    body = json.dumps({"server_id": vm[1]}).encode()
    rig.callbacks.give_up(vm[0], rig.callbacks.config(rig.caller(vm[0]), body))
    rig.turns.work(float("inf"))
    rig.clock.advance(61)
    assert rig.call(*vm).body["runner_name"] == f"{vm[0]}-2"


def test_trouble_at_the_forge_means_ask_again(rig: Any, vm: tuple[str, str]) -> None:
    rig.faults.script("github.register", Failure(FailureKind.TRANSIENT, "503"))
    reply = rig.call(*vm)
    assert (reply.status, reply.retry_after_s) == (202, 5)
    assert rig.call(*vm).status == 200


def test_a_registration_of_unknown_outcome_is_removed_and_made_anew(rig: Any, vm: tuple[str, str]) -> None:
    rig.faults.script("github.register", Failure(FailureKind.UNKNOWN_OUTCOME, "reset"), after=True)
    assert rig.call(*vm).status == 202
    assert rig.call(*vm).body["runner_name"] == f"{vm[0]}-2"
    assert set(rig.github.registrations()) == {f"{vm[0]}-2"}


def test_a_cancelled_job_s_vm_is_sent_away(rig: Any, vm: tuple[str, str]) -> None:
    (key,) = rig.github.truth()
    rig.github.cancel(key)
    rig.settle()
    reply = rig.call(*vm)
    assert reply.status in {404, 410}
    assert "remedy" in reply.body
    assert not rig.github.minted


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer x", "Basic x", "Bearer \udcff", "bearer " + "A" * 43]
)
def test_without_its_ticket_nobody_is_heard(rig: Any, vm: tuple[str, str], authorization: str) -> None:
    body = json.dumps({"server_id": vm[1], "phase": "healthy", "status": "ok"}).encode()
    caller = Caller(vm[0], authorization)
    assert rig.callbacks.config(caller, body).status == 401
    assert rig.callbacks.report(caller, "status", body).status == 401
    assert rig.callbacks.report(caller, "reclaim", body).status == 401


def test_another_vm_s_ticket_is_no_good(rig: Any, vm: tuple[str, str]) -> None:
    stolen = Caller(vm[0], rig.caller("gpu-rtx2000-other").authorization)
    assert rig.callbacks.config(stolen, b"{}").status == 401


def test_a_ticket_under_the_former_key_holds_during_a_rotation(rig: Any, vm: tuple[str, str]) -> None:
    rig.secrets.rotate("callback-key", "n" * 32)
    assert rig.call(*vm).status == 200
    rig.secrets.forget("callback-key")
    assert rig.call(*vm).status == 401


def test_another_server_with_the_vm_s_name_is_refused(rig: Any, vm: tuple[str, str]) -> None:
    assert rig.call(vm[0], "server-of-a-thief").status == 409
    assert rig.report(vm[0], "status", server_id="x", phase="healthy", status="ok").status == 409
    assert not rig.github.minted


def test_an_unknown_vm_is_told_so(rig: Any) -> None:
    rig.settle()
    assert rig.call("gpu-rtx2000-zz", "server-1").status == 404


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"server_id": 7}', b'{"server_id": "s", "phase": "x", "status": "maybe"}', b"\xff"],
)
def test_a_malformed_report_is_a_bad_request(rig: Any, vm: tuple[str, str], body: bytes) -> None:
    assert rig.callbacks.report(rig.caller(vm[0]), "status", body).status == 400


def test_the_standby_asks_vms_to_come_back(rig: Any, vm: tuple[str, str]) -> None:
    rig.service.lease.give_back()
    reply = rig.call(*vm)
    assert (reply.status, reply.retry_after_s) == (503, 2)
    assert rig.report(vm[0], "status", server_id=vm[1], phase="healthy", status="ok") is None


def test_a_report_of_another_server_taken_by_a_standby_is_dropped_later(
    rig: Any, vm: tuple[str, str]
) -> None:
    rig.service.lease.give_back()
    assert rig.report(vm[0], "status", server_id="thief", phase="gpu_host", status="failed") is None
    rig.settle()
    assert rig.call(*vm).status == 200


def test_the_address_counts_where_the_configuration_says_so(rig: Any, vm: tuple[str, str]) -> None:
    rig.callbacks._bind_address = True
    rig.cloud._servers[vm[1]] = replace(rig.cloud._servers[vm[1]], addresses=("10.0.0.9",))
    rig.settle(30)
    assert rig.call(*vm).status == 409


def test_a_reclaim_notice_is_written_to_the_inbox(rig: Any, vm: tuple[str, str]) -> None:
    assert rig.report(vm[0], "reclaim", server_id=vm[1], at=rig.clock.now() + 900) is None
    rig.settle()
    assert rig.service.engine.read(lambda state: state.vms[vm[0]]).reclaim_at is not None


def test_a_job_that_floods_its_vms_status_is_told_to_wait_and_fills_neither_inbox_nor_audit_trail(
    rig: Any, vm: tuple[str, str]
) -> None:
    rig.call(*vm)
    rig.github.connect({"jit_config": "jit-1001"}, f"{vm[0]}-1", lambda _ran: None)
    rig.settle(5)
    before = len(rig.store.audit(limit=10_000))
    replies = [
        rig.report(vm[0], "status", server_id=vm[1], phase="x", status="failed", reason=str(number))
        for number in range(500)
    ]
    rig.settle()
    refused = [reply for reply in replies if reply is not None]
    assert 400 < len(refused) < 450
    assert {reply.status for reply in refused} == {429}
    assert all(reply.retry_after_s for reply in refused)
    assert len(rig.store.audit(limit=10_000)) - before <= 10
    # What counts is still heard: another kind of call at once, this one after a while.
    assert rig.report(vm[0], "reclaim", server_id=vm[1], at=rig.clock.now() + 900) is None
    rig.clock.advance(2)
    assert rig.report(vm[0], "status", server_id=vm[1], phase="ended", status="ok") is None


def test_without_a_ticket_nobody_spends_a_vms_calls(rig: Any, vm: tuple[str, str]) -> None:
    body = json.dumps({"server_id": vm[1], "phase": "x", "status": "ok"}).encode()
    replies = [rig.callbacks.report(Caller(vm[0], "Bearer wrong"), "status", body) for _ in range(200)]
    assert {reply.status for reply in replies} == {401}
    assert rig.report(vm[0], "status", server_id=vm[1], phase="x", status="ok") is None
