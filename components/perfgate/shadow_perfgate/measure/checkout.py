"""A second working tree of the repository at the merge-base, beside the candidate's, and gone afterwards."""

import re
import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from shadow_perfgate import scratch
from shadow_perfgate.errors import InputError, MeasureError
from shadow_perfgate.masking import tail
from shadow_perfgate.measure.orphans import MARK, ends_with_parent
from shadow_perfgate.measure.process import end_group, without_tokens

TAIL = 1500
LONGEST_S = 3600.0
"""Most time for one command that makes a checkout ready; a job's own limit would end it without a word."""
_OURS = re.compile(r"perfgate-base-\w+")


@contextmanager
def at(
    repository: Path, commit: str, prepare: Sequence[Sequence[str]] = (), below: Path = Path()
) -> Generator[Path]:
    """Yield the folder `below` in a working tree of `commit`; the `prepare` commands have run in it."""
    _forget_stale(repository)
    with scratch.folder("base") as folder:
        tree = folder / "base"
        _add(repository, commit, tree)
        try:
            with _held(repository, tree):
                made_ready(tree / below, prepare)
                yield tree / below
        finally:
            _git(repository, "worktree", "remove", "--force", str(tree))


@contextmanager
def _held(repository: Path, tree: Path) -> Generator[None]:
    """Hold git's record of `tree`: another job may share the repository, but not our temporary files."""
    records = [record for record in _records(repository) if _tree_of(record) == tree]
    locks = [scratch.hold(record / scratch.LOCK) for record in records]
    try:
        yield
    finally:
        for lock in locks:
            lock.close()


def _forget_stale(repository: Path) -> None:
    """Remove the working trees that killed gates left in this repository, and git's records of them."""
    for record in _records(repository):
        tree = _tree_of(record)
        lock, owner = record / scratch.LOCK, tree.parent / scratch.LOCK
        if _OURS.fullmatch(tree.parent.name) and scratch.is_stale(lock if lock.exists() else owner):
            if scratch.is_stale(owner):
                shutil.rmtree(tree.parent, ignore_errors=True)
            shutil.rmtree(record, ignore_errors=True)


def _records(repository: Path) -> list[Path]:
    """Return the folders in which git keeps what it knows of each further working tree."""
    common = _git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir").stdout.strip()
    return sorted((Path(common) / "worktrees").glob("*/")) if common else []


def _tree_of(record: Path) -> Path:
    try:
        return Path((record / "gitdir").read_text(encoding="utf-8").strip()).parent
    except OSError:
        return Path()


def made_ready(tree: Path, prepare: Sequence[Sequence[str]]) -> None:
    """Run the commands that build or install the code in `tree`; both arms get the same ones."""
    for argv in prepare:
        with scratch.folder("prepare") as place:
            ended = _run(tree, argv, {MARK: str(place)})
        if ended.returncode != 0:
            raise MeasureError(
                f"prepare: {' '.join(argv)!r} in {tree.name} ended with {ended.returncode}: "
                f"{tail(ended.stderr, TAIL)}"
            )


def _add(repository: Path, commit: str, tree: Path) -> None:
    ended = _git(repository, "worktree", "add", "--detach", "--quiet", str(tree), commit)
    if ended.returncode == 0:
        return
    shallow = _git(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    remedy = (
        "the clone is shallow: fetch it (GIT_DEPTH: 0, or fetch-depth: 0)" if shallow else "check the commit"
    )
    raise InputError(
        f"base commit {commit!r} cannot be checked out: {ended.stderr.strip()[-TAIL:]}; {remedy}"
    )


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(repository, ["git", *arguments], {})


def _run(folder: Path, argv: Sequence[str], extra: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        with subprocess.Popen(
            [*argv],
            cwd=folder,
            env={**without_tokens(), **extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            preexec_fn=ends_with_parent(),  # noqa: PLW1509 - no other thread runs yet
        ) as command:
            return _ended(command, argv, folder)
    except OSError as error:
        raise MeasureError(f"{argv[0]!r} cannot be started in {folder}: {error.strerror}") from error


def _ended(
    command: "subprocess.Popen[str]", argv: Sequence[str], folder: Path
) -> subprocess.CompletedProcess[str]:
    try:
        output, errors = command.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired as error:
        end_group(command.pid, command.poll)
        raise MeasureError(f"{' '.join(argv)!r} in {folder} did not end within {LONGEST_S:.0f} s") from error
    except BaseException:
        end_group(command.pid, command.poll)
        raise
    return subprocess.CompletedProcess(argv, command.returncode, output, errors)
