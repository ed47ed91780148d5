"""One comment per stack: found by its marker, updated in place, never doubled even by concurrent runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

GITHUB_LIMIT: Final = 65_536
GITLAB_LIMIT: Final = 1_000_000
"""Most characters of a comment."""
_MARKER: Final = re.compile(r"<!-- shadow-gpu-runners:preview stack=(\S+) run=(\d+) -->")


@dataclass(frozen=True, slots=True)
class Note:
    """A comment of ours that is already there."""

    note_id: int
    body: str


class Thread(Protocol):
    """The comments of one pull or merge request."""

    limit: int
    """Most characters that a comment may have."""

    def mine(self) -> Sequence[Note]:
        """Comments by the user of the token, oldest first. Raises CommentError."""
        ...

    def create(self, body: str) -> None:
        """Add a comment. Raises CommentError."""
        ...

    def update(self, note_id: int, body: str) -> None:
        """Replace a comment's text. Raises CommentError."""
        ...

    def delete(self, note_id: int) -> None:
        """Remove a comment. Raises CommentError."""
        ...


def marker(stack: str, run: int) -> str:
    """The invisible first line by which the comment of a stack is found again."""
    return f"<!-- shadow-gpu-runners:preview stack={stack.replace('--', '__') or '-'} run={run} -->"


def post(thread: Thread, stack: str, run: int, text: str) -> str:
    """Put the comment in place; returns what was done, in words.

    Two runs at once may both find no comment and both create one. So each looks again after creating,
    and all keep the same one, the oldest, with the text of the latest run.
    """
    body = f"{marker(stack, run)}\n{text}"
    found = _of(thread.mine(), stack)
    if any(_run(note) > run for note in found):
        return "a later run has commented already; its comment stays"
    if found:
        thread.update(found[0].note_id, body)
        done = "updated the comment"
    else:
        thread.create(body)
        done = "added a comment"
    _settle(thread, stack)
    return done


def _settle(thread: Thread, stack: str) -> None:
    found = _of(thread.mine(), stack)
    if len(found) < 2:
        return
    oldest, latest = found[0], max(found, key=_run)
    if latest.note_id != oldest.note_id:
        thread.update(oldest.note_id, latest.body)
    for note in found[1:]:
        thread.delete(note.note_id)


def _of(notes: Sequence[Note], stack: str) -> list[Note]:
    wanted = marker(stack, 0).partition(" run=")[0]
    mine = [note for note in notes if note.body.startswith(f"{wanted} run=") and _MARKER.match(note.body)]
    return sorted(mine, key=lambda note: note.note_id)


def _run(note: Note) -> int:
    match = _MARKER.match(note.body)
    return int(match[2]) if match else 0
