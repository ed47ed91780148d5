"""Notes of a GitLab merge request, through python-gitlab."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import gitlab
import requests

from preview.comments import GITLAB_LIMIT, Note
from preview.errors import CommentError

_Answer = TypeVar("_Answer")


class GitLabThread:
    """A merge request's notes."""

    limit = GITLAB_LIMIT

    def __init__(self, url: str, token: str, project: str, iid: int) -> None:
        self._gitlab = gitlab.Gitlab(
            url.rstrip("/").removesuffix("/api/v4"), private_token=token, timeout=30, keep_base_url=True
        )
        merge_request = self._gitlab.projects.get(project, lazy=True).mergerequests.get(iid, lazy=True)
        self._notes: Any = merge_request.notes
        self._where = f"{project}!{iid}"

    def mine(self) -> Sequence[Note]:
        """Notes by the token's user, which for project and group access tokens is a bot of its own."""
        me: Any = self._called("GET /user", lambda: self._gitlab.http_get("/user"))
        notes = self._called(
            "GET notes", lambda: list(self._notes.list(iterator=True, order_by="created_at"))
        )
        return [
            Note(int(note.id), str(note.body))
            for note in notes
            if not note.system and note.author["id"] == me["id"]
        ]

    def create(self, body: str) -> None:
        """Add a note."""
        self._called("POST notes", lambda: self._notes.create({"body": body}))

    def update(self, note_id: int, body: str) -> None:
        """Replace a note's text."""
        self._called("PUT notes", lambda: self._notes.update(note_id, {"body": body}))

    def delete(self, note_id: int) -> None:
        """Remove a note; one that another run removed first is no fault."""
        try:
            self._called("DELETE notes", lambda: self._notes.delete(note_id))
        except CommentError as error:
            if "404" not in str(error):
                raise

    def _called(self, call: str, action: Callable[[], _Answer]) -> _Answer:
        try:
            return action()
        except gitlab.GitlabError as error:
            raise CommentError(_refused(call, self._where, error.response_code or 0)) from None
        except requests.RequestException as error:
            raise CommentError(f"{call} of {self._where}: {type(error).__name__}") from None


def _refused(call: str, where: str, status: int) -> str:
    why = {
        401: "the token is not valid (CI_JOB_TOKEN cannot comment)",
        403: "the token may not comment: it needs the scope `api` and the role Reporter",
        404: "the merge request does not exist, or the token may not see it",
    }.get(status, "GitLab refused")
    return f"GitLab answered {status} to {call} of {where}: {why}"
