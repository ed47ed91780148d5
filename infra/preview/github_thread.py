"""Comments of a GitHub pull request, through githubkit."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from githubkit import GitHub, TokenAuthStrategy
from githubkit.exception import GitHubException, RequestFailed

from preview.comments import GITHUB_LIMIT, Note
from preview.digest import Json, part
from preview.errors import CommentError

_PAGE = 100


class GitHubThread:
    """A pull request's conversation."""

    limit = GITHUB_LIMIT

    def __init__(self, api: str, token: str, repository: str, number: int) -> None:
        self._github: Any = GitHub(TokenAuthStrategy(token), base_url=f"{api.rstrip('/')}/", auto_retry=True)
        self._repository = f"/repos/{repository}"
        self._comments = f"{self._repository}/issues/{number}/comments"

    def mine(self) -> Sequence[Note]:
        """Comments by the token's user; a workflow's own token cannot ask who it is: then bots' comments."""
        login = self._login()
        return [
            Note(int(found["id"]), str(found.get("body") or ""))
            for found in self._all()
            if _is_mine(part(found, "user"), login)
        ]

    def create(self, body: str) -> None:
        """Add a comment."""
        self._call("POST", self._comments, body)

    def update(self, note_id: int, body: str) -> None:
        """Replace a comment's text."""
        self._call("PATCH", f"{self._repository}/issues/comments/{note_id}", body)

    def delete(self, note_id: int) -> None:
        """Remove a comment; one that another run removed first is no fault."""
        try:
            self._call("DELETE", f"{self._repository}/issues/comments/{note_id}")
        except CommentError as error:
            if "404" not in str(error):
                raise

    def _login(self) -> str:
        try:
            return str(self._github.request("GET", "/user").json()["login"])
        except GitHubException:
            return ""

    def _all(self) -> Iterator[Mapping[str, Any]]:
        page = 1
        while True:
            found = self._call("GET", f"{self._comments}?per_page={_PAGE}&page={page}")
            yield from found
            if len(found) < _PAGE:
                return
            page += 1

    def _call(self, verb: str, path: str, body: str | None = None) -> Any:
        try:
            answer = self._github.request(verb, path, json=None if body is None else {"body": body})
        except RequestFailed as error:
            raise CommentError(_refused(verb, path, error.response.status_code)) from None
        except GitHubException as error:
            raise CommentError(f"{verb} {path}: {error}") from None
        return answer.json() if answer.content else None


def _is_mine(user: Json, login: str) -> bool:
    return user.get("login") == login if login else user.get("type") == "Bot"


def _refused(verb: str, path: str, status: int) -> str:
    why = {
        401: "the token is not valid",
        403: "the token may not comment: give the job `permissions: pull-requests: write` "
        "(pull requests from forks never get it)",
        404: "the pull request does not exist, or the token may not see it",
    }.get(status, "GitHub refused")
    return f"GitHub answered {status} to {verb} {path}: {why}"
