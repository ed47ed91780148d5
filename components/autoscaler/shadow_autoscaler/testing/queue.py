"""A queue in memory that, like SQS, gives out again what is not done in time."""

from collections.abc import Sequence

from shadow_autoscaler.ports import Delivery
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.faults import FaultPlan


class FakeQueue:
    """A `Queue` with a visibility time-out and a place for what was taken too often."""

    def __init__(
        self,
        clock: VirtualClock | None = None,
        faults: FaultPlan | None = None,
        visibility_s: float = 60.0,
        receives: int = 5,
    ) -> None:
        self.dead: list[Delivery] = []
        """Deliveries that were taken `receives` times and never done."""
        self._clock, self._faults = clock or VirtualClock(), faults or FaultPlan()
        self._visibility_s, self._receives = visibility_s, receives
        self._messages: dict[int, tuple[Delivery, float, int]] = {}
        self._numbers = 0

    def put(self, delivery: Delivery) -> None:
        """Hand over a delivery."""
        with self._faults.call("queue.put"):
            self._numbers += 1
            self._messages[self._numbers] = (delivery, 0.0, 0)

    def take(self, limit: int = 10) -> Sequence[tuple[str, Delivery]]:
        """Return what is visible and hide it for a while."""
        with self._faults.call("queue.take", writes=False):
            self._bury()
            now = self._clock.true
            due = [n for n, (_, until, _) in self._messages.items() if until <= now][:limit]
            for number in due:
                delivery, _, taken = self._messages[number]
                self._messages[number] = (delivery, now + self._visibility_s, taken + 1)
            return [(str(number), self._messages[number][0]) for number in due]

    def done(self, receipt: str) -> None:
        """Forget one."""
        with self._faults.call("queue.done"):
            self._messages.pop(int(receipt), None)

    def _bury(self) -> None:
        for number, (delivery, until, taken) in list(self._messages.items()):
            if taken >= self._receives and until <= self._clock.true:
                self.dead.append(delivery)
                del self._messages[number]
