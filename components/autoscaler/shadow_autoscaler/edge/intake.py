"""Writes deliveries to the inbox: many at once in one transaction, so that a burst costs few disk writes."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from shadow_autoscaler.ports import Delivery, Store

_log = logging.getLogger(__name__)
BATCH = 256
LIMIT = 20_000
"""Deliveries that may wait to be written; beyond it senders are told to come back."""


class FullError(Exception):
    """Too many deliveries wait to be written."""


class Intake:
    """One writer thread. A delivery's future ends once it is durable: True when new, False when handled."""

    def __init__(self, store: Store, written: Callable[[], None]) -> None:
        self._store, self._written = store, written
        self._waiting: deque[tuple[Delivery, Future[bool]]] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)

    def start(self) -> None:
        """Start the writer."""
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Write what waits, then end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def submit(self, delivery: Delivery) -> "Future[bool]":
        """Hand a delivery to the writer; `FullError` when too many wait."""
        future: Future[bool] = Future()
        with self._changed:
            if len(self._waiting) >= LIMIT or self._stopping:
                raise FullError(f"{len(self._waiting)} deliveries wait to be written")
            self._waiting.append((delivery, future))
            self._changed.notify()
        return future

    def waiting(self) -> int:
        """Return how many deliveries are not written yet."""
        return len(self._waiting)

    def _run(self) -> None:
        while batch := self._next():
            self._write(batch)

    def _next(self) -> Sequence[tuple[Delivery, Future[bool]]]:
        with self._changed:
            while not self._waiting and not self._stopping:
                self._changed.wait()
            return [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]

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
