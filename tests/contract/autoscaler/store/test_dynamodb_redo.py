"""A commit too large for one DynamoDB transaction: all or nothing, whoever dies when."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from store_contract import JOB, KEY, VM

from shadow_autoscaler.adapters.dynamodb_store import DynamoStore, create_table
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.intents import Alarm
from shadow_autoscaler.core.machines import Phase
from shadow_autoscaler.core.state import Decision
from shadow_autoscaler.ports import Commit, LeaseLostError

VMS = tuple(replace(VM, name=f"gpu-t4-{number}", phase=Phase.BUSY) for number in range(60))
JOBS = tuple(replace(JOB, facts=replace(JOB.facts, key=replace(KEY, job_id=n))) for n in range(60))
LARGE = Commit(Decision(jobs=JOBS, vms=VMS, intents=(Alarm("a", "b"),)), 20.0)
LATER = Commit(Decision(vms=(replace(VMS[0], phase=Phase.GONE),)), 30.0)
WRITES = frozenset({"put_item", "update_item", "delete_item", "transact_write_items"})


class Death(BaseException):
    """The process is gone."""


class Dying:
    """A client whose process dies at its n-th write, before it is sent."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.left = 10**9

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        return (lambda **values: self._write(call, values)) if name in WRITES else call

    def _write(self, call: Callable[..., Any], values: dict[str, Any]) -> Any:
        self.left -= 1
        if self.left < 0:
            raise Death
        return call(**values)


@pytest.fixture
def table(aws: Callable[[str], Any]) -> tuple[Any, str]:
    """A table of this test's own."""
    client, name = aws("dynamodb"), f"table-{uuid.uuid4().hex[:12]}"
    create_table(client, name)
    return client, name


def _dies_at(table: tuple[Any, str], writes: int) -> bool:
    dying = Dying(table[0])
    store = DynamoStore(dying, table[1])  # type: ignore[arg-type]
    assert store.lease("one", 60.0, 0.0)
    dying.left = writes
    try:
        store.commit(LARGE)
    except Death:
        return True
    return False


def _seen(store: DynamoStore) -> tuple[int, int, int]:
    state = store.load()
    return len(state.vms), len(state.jobs), len(store.outbox())


@pytest.mark.parametrize("writes", range(7))
def test_case_11_whoever_takes_the_lease_finds_all_of_a_large_commit_or_nothing(
    writes: int, table: tuple[Any, str]
) -> None:
    # Writes: the part, the commit, two chunks, the end of the log, the part's removal; then none is left.
    died = _dies_at(table, writes)
    assert died is (writes < 6)
    heir = DynamoStore(*table)
    assert heir.lease("two", 60.0, 1000.0)
    assert _seen(heir) == ((0, 0, 0) if writes < 2 else (60, 60, 1))
    (row,) = heir.commit(Commit(Decision(intents=(Alarm("c", "d"),)), 1001.0))
    assert row.number not in {old.number for old in heir.outbox()[:-1]}


def test_a_holder_that_wakes_up_in_the_middle_overwrites_nothing_of_its_heirs(table: tuple[Any, str]) -> None:
    sleeper = Dying(table[0])
    store = DynamoStore(sleeper, table[1])  # type: ignore[arg-type]
    assert store.lease("one", 60.0, 0.0)
    heir = DynamoStore(*table)
    send = sleeper._write

    def wake_late(call: Callable[..., Any], values: dict[str, Any]) -> Any:
        if any("ConditionCheck" in member for member in values.get("TransactItems", ())):
            sleeper._write = send  # type: ignore[method-assign]
            assert heir.lease("two", 60.0, 1000.0)
            heir.commit(LATER)
        return send(call, values)

    sleeper._write = wake_late  # type: ignore[method-assign]
    with pytest.raises(LeaseLostError):
        store.commit(LARGE)
    assert heir.load().vms[VMS[0].name].phase is Phase.GONE
    assert _seen(heir) == (60, 60, 1)


def test_an_answer_that_got_lost_is_found_out_about(table: tuple[Any, str]) -> None:
    client = Dying(table[0])
    store = DynamoStore(client, table[1])  # type: ignore[arg-type]
    assert store.lease("one", 60.0, 0.0)
    send = client._write

    def lose(call: Callable[..., Any], values: dict[str, Any]) -> Any:
        client._write = send  # type: ignore[method-assign]
        send(call, values)
        from botocore.exceptions import ReadTimeoutError  # noqa: PLC0415 (no other suite needs it)

        raise ReadTimeoutError(endpoint_url="http://127.0.0.1")

    client._write = lose  # type: ignore[method-assign]
    added = store.commit(Commit(Decision(intents=(Alarm("a", "b"),)), 20.0))
    assert store.outbox() == added
    store.commit(LATER)
    assert len(store.load().vms) == 1


def test_a_missing_table_says_so(aws: Callable[[str], Any]) -> None:
    with pytest.raises(PortError, match=r"table nowhere.*ResourceNotFoundException") as caught:
        DynamoStore(aws("dynamodb"), "nowhere")
    assert caught.value.failure.kind is FailureKind.CONFIG
