"""Which commit a change is compared with: the forge and what is merged say so, not the change itself."""

import tomllib
from pathlib import Path, PurePosixPath
from typing import cast

from shadow_perfgate.baseline import ancestry
from shadow_perfgate.baseline.ancestry import Ancestry, is_shallow
from shadow_perfgate.baseline.git import content, git, line, within
from shadow_perfgate.ci import Job
from shadow_perfgate.config import Config
from shadow_perfgate.errors import InputError


def ancestry_of(config: Config, repository: Path, job: Job, base: str = "") -> Ancestry:
    """Return the way into main of what is checked out; `base` names the merge-base, or else the forge."""
    named = base or _forge_base(repository, job)
    if not (named or job.target):
        ensure_main(config, repository, job)
    return ancestry.of(repository, "HEAD", job.target or config.main, named)


def usable(way: Ancestry, repository: Path, config: Config, job: Job) -> Ancestry:
    """Return `way`, or one without a base when the base has no configuration: it cannot be measured."""
    if not way.merge_base:
        _ensure_known(way, repository, job, job.target or config.main)
        return way
    fetch(repository, way.merge_base)
    place = within(repository, config.path)
    if not known(repository, way.merge_base):
        raise InputError(
            f"{repository}: no commit {way.merge_base!r}, the merge-base; fetch it, or correct it"
        )
    if content(repository, way.merge_base, place) is not None:
        return way
    refuse_moved(repository, way.merge_base, place)
    why = f"the merge-base {way.merge_base[:12]} has no {place}: this change brings the gate"
    return Ancestry("", way.commits, why)


def _ensure_known(way: Ancestry, repository: Path, job: Job, main: str) -> None:
    """Raise `InputError` where no merge-base is known for want of commits: the gate could never block."""
    if is_shallow(repository):
        raise InputError(f"{repository}: {way.notice}; otherwise the gate could never block")
    if job.provider and not _resolves(repository, main):
        raise InputError(
            f"gate.main: the branch {main!r} is not known in {repository}; name the main branch, or fetch it"
        )


def is_main(config: Config, repository: Path, job: Job) -> bool:
    """Tell whether this is a pipeline of main; a branch cannot make itself main."""
    if job.request or job.branch != config.main:
        return False
    if job.branch != job.default:
        ensure_main(config, repository, job)
    return True


def ensure_main(config: Config, repository: Path, job: Job) -> None:
    """Raise `InputError` when the change itself moves `gate.main`: it would choose what it is held to."""
    default = job.default or default_branch(repository)
    base = ancestry.merge_base(repository, "HEAD", default) if default else ""
    said = _main_at(repository, base, config) if base else ""
    if said and said != config.main:
        raise InputError(
            f"{config.path}: gate.main: got {config.main!r}, expected {said!r} as in the merge-base "
            f"{base[:12]} with {default}; merge that change of its own first, or name the commit by --base"
        )
    if default and not base and job.provider and config.main != default:
        raise InputError(
            f"{config.path}: gate.main: got {config.main!r}, and no common commit with the default branch "
            f"{default!r} that could confirm it; fetch it (GIT_DEPTH: 0, or fetch-depth: 0)"
        )


def remarks(config: Config, repository: Path, job: Job, way: Ancestry) -> list[str]:
    """Return what a reader should know of the base."""
    found: list[str] = []
    if job.default and config.main != job.default:
        found.append(f"gate.main is {config.main!r}, the project's default branch is {job.default!r}")
    if way.merge_base and way.merge_base == line(repository, "rev-parse", "HEAD"):
        found.append("the merge-base is the commit that is checked out: only what is not committed differs")
    return found


def _main_at(repository: Path, base: str, config: Config) -> str:
    """Return what the configuration of `base` calls main, or an empty text when it says nothing."""
    place = within(repository, config.path)
    text = content(repository, base, place)
    if text is None:
        refuse_moved(repository, base, place)
        return ""
    try:
        gate: object = tomllib.loads(text.decode()).get("gate", {})
    except ValueError:
        return ""
    return str(cast("dict[str, object]", gate).get("main", "main")) if isinstance(gate, dict) else ""


def refuse_moved(repository: Path, base: str, place: str) -> None:
    """Raise `InputError` when `base` has the configuration elsewhere and the change takes it away there."""
    listed = git(repository, "ls-tree", "-r", "-z", "--name-only", base).decode(errors="replace")
    name = PurePosixPath(place).name
    moved = [p for p in listed.split("\0") if PurePosixPath(p).name == name and not _plain(repository, p)]
    if moved:
        raise InputError(
            f"{place}: this change moves it away from {moved[0]}, whose rules it is held to; "
            "copy it in one change, and remove the old one in the next"
        )


def _plain(repository: Path, place: str) -> bool:
    """Tell whether a file is there without a link on the way."""
    parents = [repository / parent for parent in PurePosixPath(place).parents]
    return (repository / place).is_file() and not any(p.is_symlink() for p in parents if p != repository)


def default_branch(repository: Path) -> str:
    """Return the default branch as far as the clone tells it, or an empty text."""
    told = line(repository, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    return told or next((name for name in ("main", "master") if _resolves(repository, name)), "")


def _resolves(repository: Path, branch: str) -> bool:
    refs = (f"refs/remotes/origin/{branch}", f"refs/heads/{branch}")
    return any(line(repository, "rev-parse", "--verify", "--quiet", ref) for ref in refs)


def known(repository: Path, commit: str) -> bool:
    """Tell whether the clone has `commit`."""
    return bool(line(repository, "cat-file", "-t", commit))


def _forge_base(repository: Path, job: Job) -> str:
    """Return the base as the forge names it.

    The merge of a request with its target, made by the forge, is compared with that target. What is checked
    out otherwise, GitHub compares with the target's newest commit, which the change may not have yet.
    """
    parents = _parents(repository)
    if job.head and len(parents) == 2 and parents[1] == job.head:
        return parents[0]
    if job.provider != "github" or not job.base:
        return job.base
    fetch(repository, job.base)
    return line(repository, "merge-base", "HEAD", job.base)


def _parents(repository: Path) -> list[str]:
    """Return the parents of what is checked out, of a shallow clone too."""
    header = line(repository, "cat-file", "-p", "HEAD").partition("\n\n")[0]
    return [row.removeprefix("parent ") for row in header.splitlines() if row.startswith("parent ")]


def fetch(repository: Path, commit: str) -> None:
    """Get `commit` from origin when the clone lacks it; what fails is told by the checkout."""
    if commit and not known(repository, commit):
        depth = ["--depth=1"] if is_shallow(repository) else []
        line(repository, "fetch", "--quiet", *depth, "origin", commit)
