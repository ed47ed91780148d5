"""Which commit a candidate is compared with: the merge-base, or its nearest measured ancestor."""

from dataclasses import dataclass
from pathlib import Path

from shadow_perfgate.baseline.git import line

WALK = 50
"""Commits of main that are looked at for a measured one."""


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The way from the candidate back into main."""

    merge_base: str
    """Empty when it is not known."""
    commits: tuple[str, ...]
    """The merge-base and its first parents, nearest first."""
    notice: str = ""
    """Why less is known than should be."""


def of(repository: Path, head: str, main: str, known_base: str = "") -> Ancestry:
    """Return the ancestry of `head` on `main`; `known_base` is the merge-base as the forge names it."""
    base = known_base or merge_base(repository, head, main)
    if not base:
        return Ancestry("", (), _why(repository, main))
    listed = line(repository, "rev-list", "--first-parent", f"--max-count={WALK}", base)
    commits = tuple(listed.split()) or (base,)
    shallow = is_shallow(repository) and len(commits) < WALK
    notice = (
        f"the clone is shallow: only {len(commits)} commits before the merge-base are known"
        if shallow
        else ""
    )
    return Ancestry(base, commits, notice)


def merge_base(repository: Path, head: str, main: str) -> str:
    """Return the commit at which `head` left the branch `main`, or an empty text."""
    for ref in (f"refs/remotes/origin/{main}", main):
        found = line(repository, "merge-base", head, ref)
        if found:
            return found
    return ""


def is_shallow(repository: Path) -> bool:
    """Tell whether the clone holds only the newest commits."""
    return line(repository, "rev-parse", "--is-shallow-repository") == "true"


def _why(repository: Path, main: str) -> str:
    if is_shallow(repository):
        return (
            f"the clone is shallow, so no merge-base with {main} is known: set fetch-depth (GIT_DEPTH) to 0"
        )
    return (
        f"no common commit with {main}: it is not fetched, it was force-pushed, or this is the first commit"
    )
