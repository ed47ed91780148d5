"""Bare repositories of the projects, read and written by the git program."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

BLANK_SHA = "0" * 40
LOG_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x1e"


class GitError(Exception):
    """A git command that failed; the text is git's own message."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit; dates are ISO 8601 with the author's zone."""

    sha: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    authored_date: str
    committer_name: str
    committer_email: str
    committed_date: str
    message: str

    @property
    def title(self) -> str:
        """The first line of the message."""
        return self.message.split("\n", 1)[0]


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write (`content`, `executable`) or, without content, to delete."""

    path: str
    content: bytes | None
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Repositories:
    """The folder with one bare repository for each project id."""

    root: Path
    _known: dict[tuple[int, str], Commit] = field(default_factory=dict[tuple[int, str], Commit])

    def path(self, project_id: int) -> Path:
        """The bare repository of a project."""
        return self.root / f"{project_id}.git"

    def create(self, project_id: int, branch: str) -> None:
        """Make an empty repository whose HEAD is `branch`."""
        path = self.path(project_id)
        self._run(["init", "--quiet", "--bare", f"--initial-branch={branch}", str(path)])
        for key, value in (("http.receivepack", "true"), ("uploadpack.allowAnySHA1InWant", "true")):
            self._run(["-C", str(path), "config", key, value])

    def forget(self) -> None:
        """Drop what is remembered of commits; needed when project ids start again."""
        self._known.clear()

    def delete(self, project_id: int) -> None:
        """Remove a repository."""
        shutil.rmtree(self.path(project_id), ignore_errors=True)

    def refs(self, project_id: int) -> dict[str, str]:
        """Branches and tags with the commits they point to."""
        pattern = "%(refname) %(objectname) %(*objectname)"
        text = self.text(project_id, "for-each-ref", f"--format={pattern}", "refs/heads", "refs/tags")
        rows = [line.split() for line in text.splitlines()]
        return {row[0]: row[-1] for row in rows}

    def resolve(self, project_id: int, ref: str) -> str | None:
        """The commit of a branch, tag or commit id, or None."""
        for name in (f"refs/heads/{ref}", f"refs/tags/{ref}", ref):
            try:
                return self.text(project_id, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
            except GitError:
                continue
        return None

    def commits(self, project_id: int, ref: str, limit: int = 20, path: str = "") -> list[Commit]:
        """The newest commits reachable from `ref`, a commit id or a range."""
        tail = ["--", path] if path else ["--"]
        text = self.text(project_id, "log", f"--format={LOG_FORMAT}", f"-{limit}", ref, *tail)
        return [_commit(record.lstrip("\n")) for record in text.split("\x1e") if record.strip()]

    def commit(self, project_id: int, ref: str) -> Commit | None:
        """One commit, or None."""
        if found := self._known.get((project_id, ref)):
            return found
        sha = self.resolve(project_id, ref)
        if sha is None:
            return None
        self._known[project_id, sha] = self.commits(project_id, sha, 1)[0]
        return self._known[project_id, sha]

    def file(self, project_id: int, ref: str, path: str) -> bytes | None:
        """A file's content at `ref`, or None."""
        try:
            return self._run(["-C", str(self.path(project_id)), "cat-file", "blob", f"{ref}:{path}"])
        except GitError:
            return None

    def files(self, project_id: int, ref: str) -> list[str]:
        """Paths of all files at `ref`."""
        return [
            name for name in self.text(project_id, "ls-tree", "-rz", "--name-only", ref).split("\0") if name
        ]

    def changed(self, project_id: int, before: str, after: str) -> list[str]:
        """Paths that differ between two commits; everything when there is no earlier commit."""
        if before == BLANK_SHA:
            return self.files(project_id, after)
        return [
            name
            for name in self.text(project_id, "diff", "--name-only", "-z", before, after).split("\0")
            if name
        ]

    def write_ref(self, project_id: int, name: str, sha: str) -> None:
        """Point a ref at a commit; the blank commit id deletes it."""
        arguments = ["update-ref", "-d", name] if sha == BLANK_SHA else ["update-ref", name, sha]
        self.text(project_id, *arguments)

    def add_commit(
        self,
        project_id: int,
        branch: str,
        changes: list[Change],
        message: str,
        author: tuple[str, str],
        start: str | None,
    ) -> str:
        """Commit changes on top of `start` (a commit id; None for a first commit) and move the branch."""
        repository = ["-C", str(self.path(project_id))]
        with TemporaryDirectory() as scratch:
            environment = _identity(author) | {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self._run([*repository, "read-tree", start or "--empty"], environment)
            for change in changes:
                self._stage(repository, change, environment)
            tree = self._run([*repository, "write-tree"], environment).decode().strip()
            parents = ["-p", start] if start else []
            sha = (
                self._run([*repository, "commit-tree", tree, *parents, "-m", message], environment)
                .decode()
                .strip()
            )
        self.write_ref(project_id, f"refs/heads/{branch}", sha)
        return sha

    def merge(
        self, project_id: int, target: str, source_sha: str, message: str, author: tuple[str, str]
    ) -> str:
        """Merge a commit into a branch and give the merge commit; refuses conflicts."""
        target_sha = self.resolve(project_id, target) or ""
        repository = ["-C", str(self.path(project_id))]
        tree = (
            self._run([*repository, "merge-tree", "--write-tree", target_sha, source_sha]).decode().split()[0]
        )
        parents = ["-p", target_sha, "-p", source_sha]
        sha = (
            self._run([*repository, "commit-tree", tree, *parents, "-m", message], _identity(author))
            .decode()
            .strip()
        )
        self.write_ref(project_id, f"refs/heads/{target}", sha)
        return sha

    def text(self, project_id: int, *arguments: str) -> str:
        """Output of a git command in a project's repository."""
        return self._run(["-C", str(self.path(project_id)), *arguments]).decode(errors="replace")

    def _stage(self, repository: list[str], change: Change, environment: dict[str, str]) -> None:
        if change.content is None:
            self._run([*repository, "update-index", "--force-remove", "--", change.path], environment)
            return
        blob = (
            self._run([*repository, "hash-object", "-w", "--stdin"], environment, change.content)
            .decode()
            .strip()
        )
        mode = "100755" if change.executable else "100644"
        self._run(
            [*repository, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{change.path}"], environment
        )

    def _run(
        self, arguments: list[str], environment: dict[str, str] | None = None, stdin: bytes = b""
    ) -> bytes:
        base = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
        result = subprocess.run(
            ["git", *arguments],
            input=stdin,
            capture_output=True,
            env=os.environ | base | (environment or {}),
            check=False,
        )
        if result.returncode:
            raise GitError(result.stderr.decode(errors="replace").strip() or f"git {arguments[0]} failed")
        return result.stdout


def _commit(record: str) -> Commit:
    sha, parents, name, email, date, committer, committer_email, committed, message = record.split("\x00")
    people = (name, email, date, committer, committer_email, committed)
    return Commit(sha, tuple(parents.split()), *people, message.strip("\n"))


def _identity(author: tuple[str, str]) -> dict[str, str]:
    name, email = author
    return {
        "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }  # fmt: skip
