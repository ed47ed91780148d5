"""Runs git and puts its complaints into words."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from shadow_perfgate.errors import StoreError

LONGEST_S = 600.0
"""Most time for one git command: a remote that is silent must not hold the GPU."""


class GitError(StoreError):
    """Git refused; `stderr` is what it said."""

    def __init__(self, arguments: Sequence[str], stderr: str) -> None:
        super().__init__(f"git {' '.join(arguments[:3])}: {stderr.strip() or 'failed without a message'}")
        self.stderr = stderr


def git(
    folder: Path, *arguments: str, stdin: bytes | None = None, environment: Mapping[str, str] | None = None
) -> bytes:
    """Return the standard output of a git command in `folder`; raise `GitError` when it fails."""
    try:
        ended = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=LONGEST_S,
            env={**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", **(environment or {})},
        )
    except OSError as error:
        raise StoreError(f"git cannot be started in {folder}: {error.strerror}; install git") from error
    except subprocess.TimeoutExpired as error:
        said = f"git {' '.join(arguments[:3])}: no answer within {LONGEST_S:.0f} s; is the remote reachable?"
        raise StoreError(said) from error
    if ended.returncode != 0:
        raise GitError(arguments, ended.stderr.decode(errors="replace"))
    return ended.stdout


def within(repository: Path, path: Path) -> str:
    """Return where `path` lies in the repository, or an empty text when it lies outside.

    A link is not followed: what it points to is the content's business, its place is not.
    """
    place = path.parent.resolve() / path.name
    root = repository.resolve()
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else ""


def line(folder: Path, *arguments: str) -> str:
    """Return the one line that a git command prints, or an empty text when it fails."""
    try:
        return os.fsdecode(git(folder, *arguments)).strip()
    except StoreError:
        return ""
