"""The queues that keep the contract."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from shadow_autoscaler.ports import Delivery, Queue
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.queue import FakeQueue


@dataclass(slots=True)
class Rig:
    """A queue, how to make what was taken visible again, and what was set aside as undeliverable."""

    queue: Queue
    expire: Callable[[], None]
    dead: Callable[[], list[Delivery]]
    receives: int


@pytest.fixture(params=["memory"])
def rig(request: pytest.FixtureRequest) -> Rig:
    """An empty queue of each kind."""
    clock = VirtualClock()
    queue = FakeQueue(clock, visibility_s=60.0, receives=3)
    return Rig(queue, lambda: clock.advance(61.0), lambda: queue.dead, 3)
