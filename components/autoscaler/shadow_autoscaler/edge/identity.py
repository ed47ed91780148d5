"""The name under which a process holds the lease."""

import fcntl
import os
import socket
from pathlib import Path
from typing import IO


class Identity:
    """A name of this process that no other has at the same time.

    The first process at a database file has a name that stays: when it was killed and is started again, the
    lease is still its own and nobody waits for it to run out. The kernel gives the file's lock free at death.
    """

    def __init__(self, database: Path | None = None) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self._lock: IO[bytes] | None = (
            _locked(database.with_name(f"{database.name}.owner")) if database else None
        )
        if self._lock is not None:
            self.name = f"{socket.gethostname()}:first"

    def close(self) -> None:
        """Give the name free."""
        if self._lock is not None:
            self._lock.close()


def _locked(path: Path) -> IO[bytes] | None:
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
