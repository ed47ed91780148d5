"""Runs git and puts its complaints into words."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from shadow_perfgate.errors import InputError, StoreError

LONGEST_S = 600.0
"""Most time for one git command: a remote that is silent must not hold the GPU."""

_POINTER = b"version https://git-lfs.github.com/spec/"


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


def absolute(path: Path) -> Path:
    """Return `path` from the root as it is written: no link is followed, on the way here neither."""
    shell = Path(os.environ.get("PWD") or ".")
    here = shell if shell.is_absolute() and _same(shell, Path.cwd()) else Path.cwd()
    return Path(os.path.normpath(here / path))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def within(repository: Path, path: Path) -> str:
    """Return where `path` lies in the repository, or an empty text when it lies outside.

    A link below the repository's top is not followed: what it points to is the content's business, its place
    is not, and a change could lead it elsewhere.
    """
    place = absolute(path)
    tops = (above for above in reversed(place.parents) if _same(above, repository))
    top = next(tops, None)
    return "" if top is None else place.relative_to(top).as_posix()


def tracked(folder: Path, *places: str) -> bool:
    """Tell whether any of `places` below `folder` is, or holds, a file under version control."""
    return any(line(folder, "ls-files", "--", f":(literal){place}") for place in places if place)


def content(repository: Path, commit: str, place: str) -> bytes | None:
    """Return the file at `place` of `commit` as a checkout would have it, or None when there is none.

    Links within the commit are followed, and filters such as Git LFS applied.
    """
    asked = f"{commit}:{place}\n".encode()
    told = git(repository, "cat-file", "--batch-check", "--follow-symlinks", stdin=asked)
    answer = told.decode(errors="replace").split("\n")[0].split(" ")
    if answer[-1] == "missing":
        return None
    if len(answer) != 3 or answer[1] != "blob":
        raise InputError(
            f"{place} of {commit[:12]}: a link that leads to no file of that commit; put the file there"
        )
    found = git(
        *(repository, "cat-file", "--filters", f"--path={place}", answer[0]),
        environment={"GIT_ATTR_SOURCE": commit},
    )
    if found.startswith(_POINTER):
        raise InputError(f"{place} of {commit[:12]}: a Git LFS pointer; install git-lfs where the gate runs")
    return found


def line(folder: Path, *arguments: str) -> str:
    """Return the one line that a git command prints, or an empty text when it fails."""
    try:
        return os.fsdecode(git(folder, *arguments)).strip()
    except StoreError:
        return ""
