"""Ends what a killed gate leaves running: an orphan would hold the GPU.

A process ends with the one that started it. Its own children do not; they carry the mark of the gate's
temporary folder in their environment, by which the next gate knows them, whatever ids were given out since.
"""

import ctypes
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_SET_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""

MARK: Final = "SHADOW_PERFGATE_OWNER"
"""Variable that names the temporary folder of the gate that started a process."""
_ROUNDS: Final = 10
_MOST_MS: Final = 10_000


def end_marked(folder: Path) -> None:
    """End every process of this user that carries the mark of `folder`, and those it starts meanwhile."""
    for _ in range(_ROUNDS):
        found = list(_marked(folder))
        for descriptor in found:
            with suppress(OSError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        for descriptor in found:
            _gone(descriptor)
        if not found:
            return


def _marked(folder: Path) -> Iterator[int]:
    """Yield a descriptor of each such process: unlike its id it stays the process's own."""
    wanted = f"{MARK}={folder}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(entry.name) == os.getpid() or not _carries(entry, wanted):
                continue
            descriptor = os.pidfd_open(int(entry.name))
            if _carries(entry, wanted):
                yield descriptor
            else:
                os.close(descriptor)


def _carries(process: Path, mark: bytes) -> bool:
    return mark in (process / "environ").read_bytes().split(b"\0")


def _gone(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll(_MOST_MS)
    os.close(descriptor)


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
