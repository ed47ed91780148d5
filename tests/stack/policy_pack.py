"""A copy of the policy pack that the engine can run: beside an environment kept in the cache by content."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from localcloud.paths import cache_home, content_hash, repository

SOURCE = repository() / "tests" / "policy"
CONFIG = SOURCE / "config.json"
"""What the pipelines enforce."""


def copied(folder: Path) -> Path:
    """Copy the pack below `folder`, with what it needs installed; return its place."""
    place = folder / "policy"
    shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns(".venv", "__pycache__"))
    (place / ".venv").symlink_to(_environment(repository() / "requirements" / "policy.txt"))
    return place


def _environment(pinned: Path) -> Path:
    place = cache_home() / f"policy-{content_hash(pinned)}"
    with pinned.open() as lock:
        # Test processes run side by side; only one may install.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / ".complete").exists():
            for command in _commands(place, pinned):
                subprocess.run(command, check=True)
            (place / ".complete").touch()
    return place


def _commands(place: Path, pinned: Path) -> Iterator[list[str]]:
    """Uv where there is one (a tenth of the time), else the standard library's venv and its pip."""
    python, hashed = str(place / "bin" / "python"), ["-q", "--require-hashes", "-r", str(pinned)]
    if uv := shutil.which("uv"):
        yield [uv, "venv", "-q", "--clear", "--python", sys.executable, str(place)]
        yield [uv, "pip", "install", "--compile-bytecode", "--python", python, *hashed]
    else:
        yield [sys.executable, "-m", "venv", "--clear", str(place)]
        yield [python, "-m", "pip", "install", *hashed]
