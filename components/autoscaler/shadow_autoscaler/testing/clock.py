"""Virtual time: moments come when a test says so, and what was to happen until then happens in order."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

START = 1_767_225_600.0
"""2026-01-01 00:00 UTC, a Thursday."""


@dataclass(order=True, slots=True)
class _Entry:
    at: float
    number: int
    action: Callable[[], None] = field(compare=False)


class VirtualClock:
    """True time that only moves forward, and the wall clock of the process, which may jump."""

    def __init__(self, start: float = START) -> None:
        self.true = start
        """Seconds since the epoch as the outside world counts them."""
        self.offset = 0.0
        """How far the process's own wall clock is ahead."""
        self.slept = 0.0
        """How long the process's machine was suspended, without knowing it."""
        self._entries: list[_Entry] = []
        self._count = 0

    def now(self) -> float:
        """Return what the process believes the time to be."""
        return self.true + self.offset

    def steady(self) -> float:
        """Return seconds that only count up, while the machine runs."""
        return self.true - self.slept

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Have something happen in the outside world, in so many seconds of true time."""
        self._count += 1
        heapq.heappush(self._entries, _Entry(self.true + max(0.0, seconds), self._count, action))

    def advance(self, seconds: float) -> None:
        """Let time pass; everything due happens in order, each at its own moment."""
        end = self.true + seconds
        while self._entries and self._entries[0].at <= end:
            self.step()
        self.true = end

    def step(self) -> bool:
        """Go to the next moment at which something happens; False when nothing is to come."""
        if not self._entries:
            return False
        entry = heapq.heappop(self._entries)
        self.true = max(self.true, entry.at)
        entry.action()
        return True
