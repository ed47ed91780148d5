"""Where the engine is kept, how its folders appear in one step, and who may write to them."""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.errors import EngineError

DIGEST_LENGTH = 16
TEMPORARY_PREFIX = ".partial-"


def cache_home() -> Path:
    """Return the project's cache folder: $SHADOW_CACHE_HOME, else one below the user's cache folder."""
    try:
        if chosen := os.environ.get("SHADOW_CACHE_HOME"):
            return Path(chosen).expanduser().absolute()
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return Path(base).expanduser().absolute() / "shadow-gpu-runners"
    except RuntimeError:
        raise EngineError(
            "there is no home folder to keep the engine in", "set SHADOW_CACHE_HOME to the path of a folder"
        ) from None


def digest(texts: Iterable[str], trees: Iterable[Path] = ()) -> str:
    """Return a short content hash over texts and over every file (path, mode and content) below the trees."""
    result = hashlib.sha256()
    for text in texts:
        result.update(text.encode() + b"\0")
    for tree in trees:
        for file in source_files(tree):
            executable = bool(file.stat().st_mode & 0o100)
            result.update(f"{file.relative_to(tree).as_posix()}\0{executable}\0".encode())
            result.update(hashlib.sha256(file.read_bytes()).digest())
    return result.hexdigest()[:DIGEST_LENGTH]


def source_files(tree: Path) -> list[Path]:
    """Return the files that a build reads, in a fixed order: no tests, no compiled Python."""
    return sorted(
        file
        for file in tree.rglob("*")
        if file.is_file()
        and "__pycache__" not in file.relative_to(tree).parts
        and not file.name.endswith("_test.go")
    )


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """Give an empty folder that becomes `target` when the block ends well, and is removed otherwise."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=target.parent))
    try:
        yield partial
        partial.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def remove_partials(folder: Path) -> None:
    """Remove what a killed run left half-made; call only while holding the lock."""
    for partial in folder.glob(TEMPORARY_PREFIX + "*"):
        shutil.rmtree(partial, ignore_errors=True)


def mirror(source: Path, target: Path, without: str = "") -> None:
    """Make `target` hold the files of `source` (but `without`) as hard links, or copies across disks."""
    target.mkdir(parents=True, exist_ok=True)
    for file in source.rglob("*"):
        if file.name == without:
            continue
        place = target / file.relative_to(source)
        if file.is_dir():
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and place.samefile(file):
            continue
        fresh = place.with_name(f"{TEMPORARY_PREFIX}{place.name}")
        fresh.unlink(missing_ok=True)
        try:
            os.link(file, fresh)
        except OSError:
            shutil.copy2(file, fresh)
        fresh.replace(place)


@contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Hold the set-up's lock; a second run waits for the first and says so."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "engine.lock").open("a+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            sys.stderr.write(f"engine: another run (process {holder}) is at it; waiting for it\n")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def require_space(folder: Path, mebibytes: int, purpose: str) -> None:
    """Raise EngineError when the disk of `folder` has less than the given space free."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    free = sys.maxsize
    with suppress(OSError):
        free = shutil.disk_usage(existing).free >> 20
    if free < mebibytes:
        raise EngineError(
            f"{existing}: {free} MiB free, but {purpose} needs {mebibytes} MiB",
            "free some space, or set SHADOW_CACHE_HOME, GOCACHE and GOMODCACHE to folders on a larger disk",
        )
