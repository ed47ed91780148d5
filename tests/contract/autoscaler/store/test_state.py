"""State, outbox and audit trail: one transaction, read back as it was written."""

from dataclasses import replace

from store_contract import EVERYTHING, INTENTS, JOB, KEY, POOL, QUOTA, VM, Stores

from shadow_autoscaler.core.intents import Alarm
from shadow_autoscaler.core.machines import Phase
from shadow_autoscaler.core.state import Counters, Decision, Note, Suspect
from shadow_autoscaler.ports import AuditLine, Commit


def test_a_new_store_is_empty_and_has_a_generation_of_its_own(stores: Stores) -> None:
    state = stores.open().load()
    assert (state.jobs, state.vms, state.pools, state.suspects, state.alarms) == ({}, {}, {}, {}, {})
    assert state.quota is None
    assert state.counters.vms == 0
    assert state.counters.generation.isalpha()
    assert stores.open().load().counters == state.counters


def test_everything_is_read_back_as_it_was_written(stores: Stores) -> None:
    stores.leader().commit(Commit(EVERYTHING, 20.0))
    state = stores.open().load()
    assert list(state.jobs.values()) == list(EVERYTHING.jobs)
    assert state.vms == {vm.name: vm for vm in EVERYTHING.vms}
    assert state.pools == {"t4": POOL}
    assert state.suspects == {"server:1": Suspect("server:1", 3.0), "server:2": Suspect("server:2", 3.0)}
    assert state.alarms == EVERYTHING.alarms
    assert state.quota == QUOTA
    assert state.counters == Counters(2, "abcde")


def test_rows_are_replaced_and_dropped(stores: Stores) -> None:
    store = stores.leader()
    store.commit(Commit(EVERYTHING, 20.0))
    change = Decision(
        vms=(replace(VM, phase=Phase.GONE),),
        cleared_suspects=("server:1",),
        alarms={"pool:t4": None},
        dropped_jobs=(KEY,),
        dropped_vms=("gpu-t4-x2", "never-was"),
    )
    store.commit(Commit(change, 21.0))
    state = stores.open().load()
    assert [key.job_id for key in state.jobs] == [5002]
    assert state.vms == {VM.name: replace(VM, phase=Phase.GONE)}
    assert list(state.suspects) == ["server:2"]
    assert list(state.alarms) == ["pool:a4500"]
    assert (state.quota, state.counters) == (QUOTA, Counters(2, "abcde"))


def test_a_loaded_state_is_a_copy(stores: Stores) -> None:
    store = stores.leader()
    store.commit(Commit(EVERYTHING, 20.0))
    store.load().apply(Decision(dropped_vms=(VM.name,), dropped_jobs=(KEY,)))
    state = store.load()
    assert VM.name in state.vms
    assert KEY in state.jobs


def test_every_kind_of_intent_is_kept_in_order_until_it_is_finished(stores: Stores) -> None:
    store = stores.leader()
    added = store.commit(Commit(EVERYTHING, 20.0))
    assert tuple(row.intent for row in added) == INTENTS
    assert {(row.due_at, row.attempts) for row in added} == {(20.0, 0)}
    assert list(stores.open().outbox()) == list(added)
    store.commit(Commit(Decision(), 21.0, finished=[row.number for row in added[1:]]))
    assert list(stores.open().outbox()) == [added[0]]


def test_a_postponed_intent_is_due_later_and_counts_its_attempts(stores: Stores) -> None:
    store = stores.leader()
    (row,) = store.commit(Commit(Decision(intents=INTENTS[:1]), 20.0))
    store.commit(Commit(Decision(), 21.0, postponed={row.number: 50.0, 999: 50.0}))
    store.commit(Commit(Decision(), 22.0, postponed={row.number: 70.0}))
    assert list(stores.open().outbox()) == [replace(row, due_at=70.0, attempts=2)]


def test_outbox_numbers_are_never_used_twice(stores: Stores) -> None:
    store = stores.leader()
    numbers: list[int] = []
    for _ in range(3):
        (row,) = store.commit(Commit(Decision(intents=(Alarm("a", "b"),)), 20.0, finished=numbers))
        assert row.number not in numbers
        numbers.append(row.number)


def test_finishing_an_unknown_intent_is_no_fault(stores: Stores) -> None:
    store = stores.leader()
    assert list(store.commit(Commit(Decision(), 20.0, finished=[42]))) == []


def test_the_audit_trail_gives_the_newest_first_and_by_subject(stores: Stores) -> None:
    store = stores.leader()
    store.commit(Commit(EVERYTHING, 20.0))
    store.commit(Commit(Decision(notes=(Note("gpu-t4-x1", "active"),)), 21.0))
    lines = stores.open().audit()
    assert lines[0] == AuditLine(21.0, "gpu-t4-x1", "active")
    assert [line.text for line in lines] == ["active", "asked for", "waits"]
    assert [line.text for line in store.audit("gpu-t4-x1")] == ["active", "asked for"]
    assert [line.text for line in store.audit(limit=1)] == ["active"]


def test_a_decision_larger_than_any_batch_is_one_transaction(stores: Stores) -> None:
    store = stores.leader()
    vms = tuple(replace(VM, name=f"gpu-t4-{number}") for number in range(60))
    jobs = tuple(replace(JOB, facts=replace(JOB.facts, key=replace(KEY, job_id=n))) for n in range(60))
    alarms = tuple(Alarm(str(number), "x") for number in range(20))
    added = store.commit(Commit(Decision(jobs=jobs, vms=vms, intents=alarms), 20.0))
    state = stores.open().load()
    assert state.vms == {vm.name: vm for vm in vms}
    assert state.jobs == {job.key: job for job in jobs}
    assert list(stores.open().outbox()) == list(added)
