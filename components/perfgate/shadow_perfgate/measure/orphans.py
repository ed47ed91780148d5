"""Lets a process end with the one that started it, even when that is killed: an orphan would hold the GPU."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

_SET_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


def ends_with_parent() -> Callable[[], None]:
    """Return what a child of this process calls first; does nothing where the system is not Linux."""
    parent = os.getpid()
    # Loaded here: between fork and exec nothing may be.
    libc = ctypes.CDLL(None)

    def first() -> None:
        if sys.platform == "linux":
            libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

    return first
