"""The inbox: verified deliveries become events, once each."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from shadow_autoscaler.core.events import Event
from shadow_autoscaler.ports import Delivery, LeaseLostError
from shadow_autoscaler.runtime.engine import DecideError, Engine

_log = logging.getLogger(__name__)
Translate = Callable[[str, bytes], Sequence[Event]]
"""Event name and body to events; `ValueError` where the body cannot be understood."""
TRIES = 5
"""Failures of ours after which a delivery is set aside, so that it does not hold up the others for ever."""


class Inbox:
    """Handles deliveries in the order in which they came."""

    def __init__(self, engine: Engine, translate: Mapping[str, Translate]) -> None:
        self._engine = engine
        self._translate = translate
        self._failures: Counter[str] = Counter()

    def step(self) -> int:
        """Handle what waits; return how many deliveries there were."""
        if not self._engine.active:
            return 0
        deliveries = self._engine.store.inbox()
        for delivery in deliveries:
            self._handle(delivery)
        return len(deliveries)

    def _handle(self, delivery: Delivery) -> None:
        try:
            events = self._translate[delivery.kind](delivery.event, delivery.body)
        except LeaseLostError:
            raise
        except Exception as error:  # noqa: BLE001 -- one that cannot be read must not hold up the others
            self._set_aside(delivery, f"not understood: {error}")
            return
        try:
            self._decide(delivery, events)
        except DecideError as error:
            self._failed(delivery, error)

    def _decide(self, delivery: Delivery, events: Sequence[Event]) -> None:
        if not events:
            self._engine.settle(delivery_id=delivery.delivery_id)
        for number, event in enumerate(events, start=1):
            last = number == len(events)
            self._engine.handle(event, delivery_id=delivery.delivery_id if last else "")
        self._failures.pop(delivery.delivery_id, None)

    def _failed(self, delivery: Delivery, error: DecideError) -> None:
        self._failures[delivery.delivery_id] += 1
        _log.exception("delivery failed", extra={"delivery": delivery.delivery_id, "kind": delivery.kind})
        if self._failures[delivery.delivery_id] >= TRIES:
            self._set_aside(delivery, f"failed {TRIES} times: {error}")

    def _set_aside(self, delivery: Delivery, reason: str) -> None:
        _log.error("delivery set aside: %s", reason, extra={"delivery": delivery.delivery_id})
        self._failures.pop(delivery.delivery_id, None)
        self._engine.store.reject(delivery.delivery_id, reason)
