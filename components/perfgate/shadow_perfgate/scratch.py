"""Folders for temporary files that a later run removes when their owner was killed and could not.

The owner holds a lock on a file in its folder. The kernel lets it go with the process, however that ends, so
a free lock means that nobody is left. Unlike a process id it is never another's, in another container or
after a boot.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from shadow_perfgate.measure.orphans import end_marked

LOCK = ".owner"
PREFIX = "perfgate-"


@contextmanager
def folder(kind: str = "") -> Generator[Path]:
    """Yield a new folder for temporary files; those of killed processes are removed first."""
    remove_stale()
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-" if kind else PREFIX))
    lock = hold(made / LOCK)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        lock.close()


def remove_stale() -> None:
    """Remove this user's folders whose owners are gone, and end what those left running."""
    for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        if is_stale(place):
            end_marked(place.parent)
            shutil.rmtree(place.parent, ignore_errors=True)


def hold(path: Path) -> IO[bytes]:
    """Create the lock file `path` and hold it until the returned file is closed."""
    new = path.with_name(f"{path.name}.new")
    file = new.open("wb")
    with suppress(OSError):
        # A file system without locks keeps what is left there: nobody can tell who is alive.
        fcntl.flock(file, fcntl.LOCK_EX)
    # Nobody finds it before it is held.
    new.rename(path)
    return file


def is_stale(path: Path) -> bool:
    """Tell whether the lock at `path` is ours and its holder is gone."""
    with suppress(OSError), path.open("rb") as file:
        if os.fstat(file.fileno()).st_uid == os.getuid():
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False
