"""The lease: one process decides, and one that lost it writes nothing."""

import pytest
from store_contract import EVERYTHING, Stores, delivery

from shadow_autoscaler.ports import Commit, LeaseLostError


def test_without_the_lease_nothing_is_written(stores: Stores) -> None:
    store = stores.open()
    store.accept([delivery()])
    with pytest.raises(LeaseLostError):
        store.commit(Commit(EVERYTHING, 20.0, delivery_id="D-1"))
    assert store.load().vms == {}
    assert list(store.outbox()) == []
    assert list(store.audit()) == []
    assert store.inbox() == [delivery()]


def test_a_second_process_waits_until_the_lease_has_run_out(stores: Stores) -> None:
    first, second = stores.open(), stores.open()
    assert first.lease("one", 30.0, 100.0)
    assert not second.lease("two", 30.0, 129.0)
    assert first.lease("one", 30.0, 125.0)
    assert not second.lease("two", 30.0, 154.0)
    assert second.lease("two", 30.0, 155.0)
    assert not first.lease("one", 30.0, 156.0)


def test_a_commit_by_a_process_that_lost_the_lease_writes_nothing(stores: Stores) -> None:
    first, second = stores.leader("one", 100.0), stores.open()
    first.accept([delivery()])
    assert second.lease("two", 30.0, 1000.0)
    with pytest.raises(LeaseLostError):
        first.commit(Commit(EVERYTHING, 1000.0, delivery_id="D-1"))
    assert stores.open().load().vms == {}
    assert stores.open().inbox() == [delivery()]
    second.commit(Commit(EVERYTHING, 1001.0))
    assert stores.open().load().vms


def test_a_lease_that_ran_out_and_nobody_took_is_still_good(stores: Stores) -> None:
    store = stores.leader("one", 100.0)
    store.commit(Commit(EVERYTHING, 9000.0))
    assert store.load().vms


def test_a_loser_that_gets_the_lease_back_may_write_again(stores: Stores) -> None:
    first, second = stores.leader("one", 100.0), stores.open()
    assert second.lease("two", 30.0, 1000.0)
    assert first.lease("one", 30.0, 2000.0)
    first.commit(Commit(EVERYTHING, 2000.0))
    with pytest.raises(LeaseLostError):
        second.commit(Commit(EVERYTHING, 2001.0))


def test_a_lease_given_back_is_free_at_once(stores: Stores) -> None:
    first, second = stores.leader("one", 100.0), stores.open()
    assert first.lease("", 0.0, 101.0)
    with pytest.raises(LeaseLostError):
        first.commit(Commit(EVERYTHING, 101.0))
    assert second.lease("two", 30.0, 101.0)


def test_giving_back_what_another_holds_changes_nothing(stores: Stores) -> None:
    first, second = stores.leader("one", 100.0), stores.open()
    second.lease("", 0.0, 101.0)
    first.commit(Commit(EVERYTHING, 102.0))
    assert not second.lease("two", 30.0, 102.0)


def test_a_restart_under_the_same_name_takes_over_and_fences_the_old_one_off(stores: Stores) -> None:
    old, new = stores.leader("one", 100.0), stores.open()
    assert new.lease("one", 30.0, 101.0)
    with pytest.raises(LeaseLostError):
        old.commit(Commit(EVERYTHING, 102.0))
    new.commit(Commit(EVERYTHING, 102.0))


def test_a_lease_written_by_a_clock_far_ahead_does_not_lock_everybody_out(stores: Stores) -> None:
    stores.leader("one", 1_000_000.0)
    assert stores.open().lease("two", 30.0, 100.0)


def test_a_clock_a_little_behind_takes_no_lease(stores: Stores) -> None:
    stores.leader("one", 100.0)
    assert not stores.open().lease("two", 30.0, 95.0)
