"""Deliveries between the webhook function and the worker: none lost, none for ever in the way."""

from typing import Any

from shadow_autoscaler.ports import Delivery

DELIVERY = Delivery("D-1", "github", "workflow_job", b'{"a": "\xc3\xa9\x00\xff"}', 10.25)


def test_a_delivery_comes_out_as_it_went_in(rig: Any) -> None:
    rig.queue.put(DELIVERY)
    ((receipt, taken),) = rig.queue.take()
    assert taken == DELIVERY
    assert receipt


def test_an_empty_queue_gives_nothing(rig: Any) -> None:
    assert list(rig.queue.take()) == []


def test_what_was_taken_is_hidden_and_comes_back_when_it_was_not_done(rig: Any) -> None:
    rig.queue.put(DELIVERY)
    assert len(rig.queue.take()) == 1
    assert list(rig.queue.take()) == []
    rig.expire()
    assert [taken for _, taken in rig.queue.take()] == [DELIVERY]


def test_what_is_done_does_not_come_back(rig: Any) -> None:
    rig.queue.put(DELIVERY)
    ((receipt, _),) = rig.queue.take()
    rig.queue.done(receipt)
    rig.expire()
    assert list(rig.queue.take()) == []


def test_done_twice_is_no_fault(rig: Any) -> None:
    rig.queue.put(DELIVERY)
    ((receipt, _),) = rig.queue.take()
    rig.queue.done(receipt)
    rig.queue.done(receipt)


def test_no_more_than_asked_is_taken(rig: Any) -> None:
    for number in range(4):
        rig.queue.put(Delivery(f"D-{number}", "gitlab", "Job Hook", b"{}", 1.0))
    assert len(rig.queue.take(3)) <= 3


def test_what_is_never_done_ends_among_the_dead_letters(rig: Any) -> None:
    rig.queue.put(DELIVERY)
    for _ in range(rig.receives):
        assert len(rig.queue.take()) == 1
        rig.expire()
    assert list(rig.queue.take()) == []
    assert rig.dead() == [DELIVERY]


def test_a_large_delivery_fits(rig: Any) -> None:
    large = Delivery("D-1", "github", "workflow_job", bytes(range(256)) * 1200, 10.25)
    rig.queue.put(large)
    assert [taken for _, taken in rig.queue.take()] == [large]
