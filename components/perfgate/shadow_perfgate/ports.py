"""Where deciding and measuring meet."""

from collections.abc import Callable
from typing import Protocol

from shadow_perfgate.model import Session

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much is done and how much there is."""


class Measurer(Protocol):
    """Measures one workload; each run is a fresh process.

    Raises `MeasureError` when the workload fails, `EnvironmentFaultError` when the machine is not fit.
    """

    def candidate(self, runs: int, progress: Progress) -> Session:
        """Measure the candidate alone, `runs` times, for comparison with a stored baseline."""
        ...

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Measure pairs `first` (inclusive) to `last` (exclusive), order ABBA BAAB…, as (base, candidate).

        Both sessions hold the runs of these pairs only; the gate joins them with earlier looks.
        """
        ...
