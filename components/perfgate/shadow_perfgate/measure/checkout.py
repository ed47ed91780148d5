"""A second working tree of the repository at the merge-base, beside the candidate's, and gone afterwards."""

import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shadow_perfgate.errors import InputError, MeasureError

TAIL = 1500


@contextmanager
def at(repository: Path, commit: str, prepare: Sequence[Sequence[str]] = ()) -> Generator[Path]:
    """Yield a working tree of `commit` in which the `prepare` commands have run."""
    with tempfile.TemporaryDirectory(prefix="perfgate-base-") as folder:
        tree = Path(folder) / "base"
        _add(repository, commit, tree)
        try:
            made_ready(tree, prepare)
            yield tree
        finally:
            _git(repository, "worktree", "remove", "--force", str(tree))


def made_ready(tree: Path, prepare: Sequence[Sequence[str]]) -> None:
    """Run the commands that build or install the code in `tree`; both arms get the same ones."""
    for argv in prepare:
        ended = _run(tree, argv)
        if ended.returncode != 0:
            raise MeasureError(
                f"prepare: {' '.join(argv)!r} in {tree.name} ended with {ended.returncode}: "
                f"{ended.stderr[-TAIL:]}"
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
    return _run(repository, ["git", *arguments])


def _run(folder: Path, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [*argv], cwd=folder, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        raise MeasureError(f"{argv[0]!r} cannot be started in {folder}: {error.strerror}") from error
