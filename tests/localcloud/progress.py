"""Says what happens now and how long it has been going."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Progress:
    """Prints one line per step, each with the seconds since the beginning."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun

    def say(self, text: str) -> None:
        """Print one line at once."""
        self.out.write(f"[{self.seconds:6.1f} s] {text}\n")
        self.out.flush()
