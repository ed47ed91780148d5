"""Deliveries: taken once, kept until handled, remembered after."""

from store_contract import Stores, delivery

from shadow_autoscaler.core.state import Decision
from shadow_autoscaler.ports import Commit


def test_a_delivery_is_kept_byte_for_byte(stores: Stores) -> None:
    assert stores.open().accept([delivery()]) == [True]
    assert stores.open().inbox() == [delivery()]


def test_a_delivery_twice_in_and_across_batches_is_one(stores: Stores) -> None:
    store = stores.open()
    assert store.accept([delivery(), delivery("D-2"), delivery()]) == [True, True, True]
    assert stores.open().accept([delivery()]) == [True]
    assert store.inbox() == [delivery(), delivery("D-2")]


def test_the_first_body_of_a_delivery_counts(stores: Stores) -> None:
    store = stores.open()
    store.accept([delivery(body=b"first")])
    store.accept([delivery(body=b"second")])
    assert [row.body for row in store.inbox()] == [b"first"]


def test_the_inbox_gives_the_oldest_first_and_no_more_than_asked(stores: Stores) -> None:
    store = stores.open()
    store.accept([delivery(f"D-{9 - number}") for number in range(5)])
    assert [row.delivery_id for row in store.inbox(2)] == ["D-9", "D-8"]


def test_a_handled_delivery_leaves_the_inbox_and_is_not_taken_again(stores: Stores) -> None:
    store = stores.leader()
    store.accept([delivery(), delivery("D-2")])
    store.commit(Commit(Decision(), 20.0, delivery_id="D-1"))
    assert store.accept([delivery(), delivery("D-2"), delivery("D-3")]) == [False, True, True]
    assert [row.delivery_id for row in stores.open().inbox()] == ["D-2", "D-3"]


def test_case_1_a_delivery_whose_handling_failed_is_taken_again(stores: Stores) -> None:
    store = stores.open()
    store.accept([delivery()])
    assert store.accept([delivery()]) == [True]
    assert store.inbox() == [delivery()]


def test_a_rejected_delivery_is_set_aside_for_good(stores: Stores) -> None:
    store = stores.open()
    store.accept([delivery(), delivery("D-2")])
    store.reject("D-1", "not JSON")
    assert store.accept([delivery()]) == [False]
    assert stores.open().inbox() == [delivery("D-2")]


def test_rejecting_what_is_not_there_changes_nothing(stores: Stores) -> None:
    store = stores.open()
    store.accept([delivery()])
    store.reject("D-9", "unknown")
    assert store.accept([delivery("D-9")]) == [True]


def test_an_empty_batch_is_no_fault(stores: Stores) -> None:
    assert list(stores.open().accept([])) == []


def test_a_commit_that_names_no_delivery_closes_none(stores: Stores) -> None:
    store = stores.leader()
    store.accept([delivery()])
    store.commit(Commit(Decision(), 20.0))
    assert store.inbox() == [delivery()]
