"""Progress of long work: a bar on a terminal, a line now and then in a job's log."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

_EVERY_S = 15.0


@dataclass(slots=True)
class LogProgress:
    """Prints what is going on when it changes, and at most every few seconds otherwise."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _last: str = field(default="", init=False)
    _printed: float = field(default=0.0, init=False)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say that `done` of `total` of `what` is done."""
        now = time.monotonic()
        terminal = self.stream.isatty()
        if terminal:
            self.stream.write(f"\r\033[K{what} {done}/{total}" + ("\n" if done == total else ""))
        elif what != self._last or now - self._printed > _EVERY_S:
            self.stream.write(f"{what} {done}/{total}\n")
            self._last, self._printed = what, now
        self.stream.flush()
