"""A clock that nobody sets, and what it tells about the one that is set."""

import time
from collections.abc import Callable

TOLERANCE_S = 2.0
"""Below it a difference is left alone until it has grown: clocks are nudged all the time."""
AT_ONCE_S = 0.5
"""Within this two clocks are read together."""


def steady() -> float:
    """Return seconds that only count up; on Linux those in which the machine slept count, too."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


class Watch:
    """A clock that only moves steadily, and by how much the wall clock was set since it was last followed.

    Without a steady clock it is the wall clock, and never sees anything.
    """

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float] | None) -> None:
        self._wall, self._steady = wall, steady
        self._apart = self._measured()

    def now(self) -> float:
        """Return the wall clock's time, without the steps that are not dealt with yet."""
        return self._wall() if self._steady is None else self._steady() + self._apart

    def begin(self) -> None:
        """Take the two clocks as they stand."""
        self._apart = self._measured()

    def stepped(self) -> float:
        """Return by how much the wall clock was set; 0 where it was not, to speak of."""
        by = self._measured() - self._apart
        return by if abs(by) > TOLERANCE_S else 0.0

    def heed(self, by: float) -> None:
        """Take a step as dealt with."""
        self._apart += by

    def _measured(self) -> float:
        if self._steady is None:
            return 0.0
        before, wall, after = self._steady(), self._wall(), self._steady()
        while after - before > AT_ONCE_S:  # something else ran between the two looks
            before, wall, after = self._steady(), self._wall(), self._steady()
        return wall - after
