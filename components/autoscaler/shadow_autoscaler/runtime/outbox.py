"""Intents on their way to the workers, in memory: lanes, due times and pauses."""

import heapq
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.ports import Outgoing


class Lane(StrEnum):
    """Who carries intents out: calls that write to one forge never overlap."""

    GITHUB = "github"
    GITLAB = "gitlab"
    CLOUD = "cloud"
    LOCAL = "local"

    @classmethod
    def of(cls, forge: ForgeKind) -> "Lane":
        """Return the lane of a forge."""
        return cls(forge.value)


LONGEST_S = 3600.0
"""No intent and no lane waits longer: a due time beyond it was written by a clock that was ahead."""


@dataclass(order=True, slots=True)
class _Entry:
    due_at: float
    """By the steady clock."""
    number: int
    row: Outgoing = field(compare=False)


class Outbox:
    """Gives each lane's workers the next intent that is due.

    Due times come by the engine's clock and are kept by a steady one: nobody waits for a clock set back.
    """

    def __init__(
        self,
        lane_of: Callable[[Outgoing], Lane],
        clock: Callable[[], float],
        steady: Callable[[], float] | None = None,
    ) -> None:
        self._lane_of = lane_of
        self._now, self._clock = clock, steady or clock
        self._changed = threading.Condition()
        self._entries: dict[Lane, list[_Entry]] = {lane: [] for lane in Lane}
        self._paused: dict[Lane, float] = dict.fromkeys(Lane, self._clock())
        self._known: set[int] = set()

    def put(self, rows: Iterable[Outgoing]) -> None:
        """Add intents; those already waiting are left as they are."""
        placed = [(self._lane_of(row), row) for row in rows]  # asks the engine, so not under this lock
        with self._changed:
            for lane, row in placed:
                if row.number not in self._known:
                    self._known.add(row.number)
                    heapq.heappush(self._entries[lane], _Entry(self._steadily(row.due_at), row.number, row))
            self._changed.notify_all()

    def take(self, lane: Lane) -> Outgoing | None:
        """Return the lane's next intent if one is due and the lane is open."""
        with self._changed:
            entries, now = self._entries[lane], self._clock()
            if not entries or self._paused[lane] > now or entries[0].due_at > now:
                return None
            row = heapq.heappop(entries).row
            self._known.discard(row.number)
            return row

    def pause(self, lane: Lane, seconds: float) -> None:
        """Let nothing of a lane go for so long: the other side asked for it."""
        with self._changed:
            until = self._clock() + min(seconds, LONGEST_S)
            self._paused[lane] = max(self._paused[lane], until)

    def closed_s(self, lane: Lane) -> float:
        """Return for how long a lane is closed; 0 or less when it is open."""
        with self._changed:
            return self._paused[lane] - self._clock()

    def wait(self, lane: Lane, longest_s: float) -> None:
        """Wait until a lane may have something due, `longest_s` at most."""
        with self._changed:
            entries, now = self._entries[lane], self._clock()
            due = max(entries[0].due_at, self._paused[lane]) - now if entries else longest_s
            if due > 0:
                self._changed.wait(min(due, longest_s))

    def _steadily(self, at: float) -> float:
        return self._clock() + min(at - self._now(), LONGEST_S)

    def wake(self) -> None:
        """End every wait, so that workers look whether they are to stop."""
        with self._changed:
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget everything: another process carries on from the store."""
        with self._changed:
            for entries in self._entries.values():
                entries.clear()
            self._known.clear()

    def waiting(self) -> dict[str, int]:
        """Return how many intents wait, by lane."""
        with self._changed:
            return {lane.value: len(entries) for lane, entries in self._entries.items()}
