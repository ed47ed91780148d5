"""Threads that run a step again and again."""

import logging
import threading
from collections.abc import Callable

from shadow_autoscaler.ports import LeaseLostError
from shadow_autoscaler.runtime.outcomes import backoff

_log = logging.getLogger(__name__)


class Loop:
    """Runs `step`, which returns the seconds until its next turn; faults are logged and outlived."""

    def __init__(self, name: str, step: Callable[[], float]) -> None:
        self.name = name
        self._step = step
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def dead(self) -> bool:
        """Whether the thread has ended though nobody stopped it."""
        started = self._thread.ident is not None
        return started and not self._thread.is_alive() and not self._stopping.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Have the next turn now."""
        self._wake.set()

    def stop(self) -> None:
        """Ask the thread to end after its present step."""
        self._stopping.set()
        self._wake.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end; False when the step takes longer."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        faults = 0
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                pause, faults = self._step(), 0
            except LeaseLostError:
                pause = 1.0
            except Exception:  # noqa: BLE001 -- one bad turn must not end the loop
                faults += 1
                pause = backoff(faults, 30.0)
                _log.exception("loop %s failed; next turn in %.0f s", self.name, pause)
            if pause > 0:
                self._wake.wait(pause)
