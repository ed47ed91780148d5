"""Writes deliveries to the inbox: many at once in one transaction, so that a burst costs few disk writes."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from shadow_autoscaler.ports import Delivery, Store
from shadow_autoscaler.runtime.loops import Loop

_log = logging.getLogger(__name__)
BATCH = 256
LIMIT = 20_000
"""Deliveries that may wait to be written; beyond it senders are told to come back."""


IDLE_S = 3600.0
"""Until the next turn, unless something comes."""


class FullError(Exception):
    """Too many deliveries wait to be written."""


class Intake:
    """One writer thread. A delivery's future ends once it is durable: True when new, False when handled."""

    def __init__(self, store: Store, written: Callable[[], None]) -> None:
        self._store, self._written = store, written
        self._waiting: deque[tuple[Delivery, Future[bool]]] = deque()
        self._lock = threading.Lock()
        self._stopping = False
        self._loop = Loop("intake", self._turn)

    def start(self) -> None:
        """Begin to write."""
        self._loop.start()

    @property
    def dead(self) -> bool:
        """Whether the writer has ended though nobody stopped it."""
        return self._loop.dead

    def stop(self, timeout_s: float = 10.0) -> None:
        """Take nothing more, write what waits, then end."""
        with self._lock:
            self._stopping = True
        self._loop.stop()
        if self._loop.join(timeout_s):
            while self._waiting:
                self._turn()

    def submit(self, delivery: Delivery) -> "Future[bool]":
        """Hand a delivery to the writer; `FullError` when too many wait."""
        future: Future[bool] = Future()
        with self._lock:
            if len(self._waiting) >= LIMIT or self._stopping:
                raise FullError(f"{len(self._waiting)} deliveries wait to be written")
            self._waiting.append((delivery, future))
        self._loop.wake()
        return future

    def waiting(self) -> int:
        """Return how many deliveries are not written yet."""
        return len(self._waiting)

    def _turn(self) -> float:
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        if batch:
            self._write(batch)
        return 0.0 if self._waiting else IDLE_S

    def _write(self, batch: Sequence[tuple[Delivery, Future[bool]]]) -> None:
        try:
            fresh = self._store.accept([delivery for delivery, _ in batch])
        except Exception as error:  # noqa: BLE001 -- each sender gets the failure and sends again
            _log.error("deliveries not written: %s", error, extra={"count": len(batch)})
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), new in zip(batch, fresh, strict=True):
            future.set_result(new)
        self._written()
