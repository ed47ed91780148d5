"""Keeps off a forge that said "not now", so that no call is made before the time it named."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

FIRST_WAIT_S = 60.0
"""GitHub asks for at least a minute where it names no time."""
LONGEST_WAIT_S = 900.0
_MINUTE_S = 60.0


@dataclass(slots=True)
class Brake:
    """Limits of one credential; `resource` "" stands for every kind of call. Safe from several threads."""

    writes_per_minute: int = 170
    """GitHub counts 5 of 900 points for a write, and so allows 180."""
    clock: Callable[[], float] = time.monotonic
    _until: dict[str, float] = field(default_factory=dict[str, float])
    _refusals: int = 0
    _writes: deque[float] = field(default_factory=deque[float])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, resource: str) -> None:
        """Let a call pass.

        Raises:
            PortError: THROTTLED, with the time that is left, while the forge wants no such call.
        """
        with self._lock:
            left = max(self._until.get("", 0.0), self._until.get(resource, 0.0)) - self.clock()
        if left > 0:
            raise throttled("the forge asked for a pause", left)

    def count_write(self) -> None:
        """Count a write that is about to be sent.

        Raises:
            PortError: THROTTLED where this minute's writes are used up.
        """
        with self._lock:
            now = self.clock()
            while self._writes and self._writes[0] <= now - _MINUTE_S:
                self._writes.popleft()
            if len(self._writes) >= self.writes_per_minute:
                left = self._writes[0] + _MINUTE_S - now
                raise throttled(f"{self.writes_per_minute} writes in a minute are enough", left)
            self._writes.append(now)

    def refused(self, resource: str, retry_after_s: float | None) -> float:
        """Note a refusal; return the seconds until the next call, which double where the forge names none."""
        with self._lock:
            doubled = min(FIRST_WAIT_S * 2.0**self._refusals, LONGEST_WAIT_S)
            wait = doubled if retry_after_s is None else max(retry_after_s, 1.0)
            self._refusals = min(self._refusals + 1, 10)
            self._until[resource] = max(self._until.get(resource, 0.0), self.clock() + wait)
            return wait

    def passed(self) -> None:
        """Note an answer that was no refusal."""
        with self._lock:
            self._refusals = 0


def throttled(text: str, retry_after_s: float) -> PortError:
    """A failure that says when to call again."""
    return PortError(Failure(FailureKind.THROTTLED, text, retry_after_s=retry_after_s))
