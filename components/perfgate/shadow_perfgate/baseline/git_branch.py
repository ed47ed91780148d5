"""A store on a branch of its own in the repository: no other service, history for free.

Commits are made from blobs and trees without a checkout, and pushed without force: when another job pushed
first, the files are put on top of its commit and pushed again, so nothing is ever lost.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from shadow_perfgate import scratch
from shadow_perfgate.baseline.git import GitError, git, line
from shadow_perfgate.baseline.store import ExistsError
from shadow_perfgate.errors import StoreError

Change = Callable[[str], list[str]]
"""From the commit that is the head now to the index entries to set."""
TRIES = 12
_AUTHOR = {
    "GIT_AUTHOR_NAME": "shadow-perfgate",
    "GIT_AUTHOR_EMAIL": "shadow-perfgate@localhost",
    "GIT_COMMITTER_NAME": "shadow-perfgate",
    "GIT_COMMITTER_EMAIL": "shadow-perfgate@localhost",
}


class GitBranchStore:
    """Files on `branch` of the remote `origin`, or of this repository when it has no remote."""

    def __init__(self, repository: Path, branch: str, remote: str = "origin") -> None:
        self.repository = repository
        self.branch = branch
        self.remote = remote if line(repository, "remote", "get-url", remote) else ""
        self._head: str | None = None

    def create(self, files: Mapping[str, bytes]) -> None:
        """Commit new files; raise `ExistsError` for one that is there."""
        blobs = {name: self._blob(content) for name, content in files.items()}

        def change(head: str) -> list[str]:
            taken = set(self._listed(head, ""))
            for name in blobs:
                if name in taken:
                    raise ExistsError(name)
            return [f"100644 {blob}\t{name}" for name, blob in blobs.items()]

        self._commit(change, f"Add {len(files)} session(s)")

    def names(self, prefix: str) -> list[str]:
        """Return the paths below `prefix`, in order."""
        return sorted(self._listed(self._current(), prefix))

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of each file that is still there."""
        head, wanted = self._current(), list(names)
        if not head or not wanted:
            return
        asked = "".join(f"{head}:{name}\n" for name in wanted).encode()
        answer = git(self.repository, "cat-file", "--batch", stdin=asked)
        at = 0
        for name in wanted:
            end = answer.index(b"\n", at)
            header, at = answer[at:end], end + 1
            if header.endswith(b" missing"):
                continue
            size = int(header.rsplit(b" ", 1)[1])
            yield name, answer[at : at + size]
            at += size + 1

    def delete(self, names: Iterable[str]) -> None:
        """Commit the removal of files."""
        gone = list(names)
        if gone:
            nothing = "0" * 40
            self._commit(lambda _: [f"0 {nothing}\t{name}" for name in gone], f"Prune {len(gone)} session(s)")

    def _commit(self, change: Change, message: str) -> None:
        for attempt in range(TRIES):
            head = self._current(fresh=True)
            commit = self._made(head, change(head), message)
            try:
                self._publish(head, commit)
            except GitError as error:
                if not _was_overtaken(error) or attempt == TRIES - 1:
                    raise self._refused(error) from error
                # Jobs that collide once would collide again at the same pace.
                time.sleep(random.uniform(0.05, 0.2) * (attempt + 1))  # noqa: S311 - jitter
            else:
                self._head = commit
                return

    def _made(self, head: str, entries: list[str], message: str) -> str:
        with scratch.folder("index") as folder:
            environment = {**_AUTHOR, "GIT_INDEX_FILE": f"{folder}/index"}
            if head:
                git(self.repository, "read-tree", head, environment=environment)
            listing = "".join(f"{entry}\n" for entry in entries).encode()
            git(self.repository, "update-index", "--index-info", stdin=listing, environment=environment)
            tree = git(self.repository, "write-tree", environment=environment).decode().strip()
            parents = ["-p", head] if head else []
            made = git(self.repository, "commit-tree", tree, *parents, "-m", message, environment=environment)
        return made.decode().strip()

    def _publish(self, head: str, commit: str) -> None:
        if self.remote:
            git(self.repository, "push", "--quiet", self.remote, f"{commit}:refs/heads/{self.branch}")
        else:
            git(self.repository, "update-ref", f"refs/heads/{self.branch}", commit, head or "0" * 40)

    def _current(self, *, fresh: bool = False) -> str:
        if self._head is None or fresh:
            self._head = self._fetched() if self.remote else self._local()
        return self._head

    def _fetched(self) -> str:
        listed = git(self.repository, "ls-remote", self.remote, f"refs/heads/{self.branch}").decode().split()
        if not listed:
            return ""
        if not line(self.repository, "cat-file", "-t", listed[0]):
            # FETCH_HEAD is not read: another job in this repository may fetch at the same time.
            branch = f"+refs/heads/{self.branch}"
            git(
                self.repository, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.remote, branch
            )
        return listed[0]

    def _local(self) -> str:
        return line(self.repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{self.branch}")

    def _listed(self, head: str, prefix: str) -> list[str]:
        if not head:
            return []
        listed = git(
            self.repository, "ls-tree", "-r", "-z", "--name-only", head, "--", *([prefix] if prefix else [])
        )
        return [name for name in listed.decode().split("\0") if name]

    def _blob(self, content: bytes) -> str:
        return git(self.repository, "hash-object", "-w", "--stdin", stdin=content).decode().strip()

    def _refused(self, error: GitError) -> StoreError:
        return StoreError(
            f"store git:{self.branch}: {error}; the job needs a token that may push this branch "
            "(GitLab: CI job token with push allowed, or a project token; GitHub: contents: write)"
        )


def _was_overtaken(error: GitError) -> bool:
    return any(
        word in error.stderr
        # "[remote rejected]" alone is a refusal: waiting would not help.
        for word in ("[rejected]", "fetch first", "cannot lock ref", "failed to update ref")
    )
