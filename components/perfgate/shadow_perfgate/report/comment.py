"""One comment on the merge or pull request, made once and then kept up to date.

A token that may not comment (a fork's, or GitLab's job token) changes nothing in the verdict: the reason is
returned.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from shadow_perfgate.ci import Job, text_at
from shadow_perfgate.decide.verdict import Decision
from shadow_perfgate.report import markdown

_PAGES = 50
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class _Forge:
    """Where comments lie, and how they are changed."""

    list_url: str
    one_url: str
    """With `{}` for a comment's number."""
    headers: Mapping[str, str]
    update: str
    """Method that changes a comment."""
    me_url: str
    """Tells whose the token is."""
    bot: str = ""
    """GitHub: who writes with an Actions job's own token."""


def post(decision: Decision, job: Job, environment: Mapping[str, str]) -> str:
    """Make or update the comment of a gate; return what was done, or why not, in one line."""
    if not job.request:
        return "no comment: this is not a merge request"
    forge = _forge(job, environment)
    if isinstance(forge, str):
        return forge
    try:
        return _upsert(forge, markdown.comment(decision), markdown.marker(decision.key))
    except HTTPError as error:
        said = f"{error.code} {error.reason} from {urlsplit(error.url).netloc}"
        return f"no comment: {said}; {_remedy(error.code, job)}"
    except (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError) as error:
        # Whatever a proxy answers in the forge's place says nothing about the change.
        return f"no comment: {type(error).__name__}: {error}; the report is in the job's artifacts"


def _upsert(forge: _Forge, body: str, hidden: str) -> str:
    me = _login(forge)
    for comment in _comments(forge):
        # Others may quote ours, and a token may be allowed to change what others wrote.
        first, _, _ = str(comment.get("body", "")).partition("\n")
        if first.strip() == hidden and _author(comment) == me:
            _call(forge, forge.update, forge.one_url.format(comment["id"]), {"body": body})
            return "updated the comment on the merge request"
    _call(forge, "POST", forge.list_url, {"body": body})
    return "commented on the merge request"


def _author(comment: Mapping[str, Any]) -> str:
    """Return who wrote a comment, as either forge names it."""
    return text_at(comment, "author", "username") or text_at(comment, "user", "login")


def _login(forge: _Forge) -> str:
    """Return the user of the token; of one that may not ask it is known that it writes as the forge's bot."""
    if not forge.bot:
        return str(_call(forge, "GET", forge.me_url, None)["username"])
    try:
        answer = _call(forge, "POST", forge.me_url, {"query": "{ viewer { login } }"})
    except HTTPError:
        return forge.bot
    return text_at(answer, "data", "viewer", "login") or forge.bot


def _comments(forge: _Forge) -> Iterator[dict[str, Any]]:
    for page in range(1, _PAGES + 1):
        found = _call(forge, "GET", f"{forge.list_url}?per_page=100&page={page}", None)
        yield from found
        if len(found) < 100:
            return


def _call(forge: _Forge, method: str, url: str, body: object) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, dict(forge.headers), method=method)  # noqa: S310 - scheme checked in _forge
    with build_opener(_Stays).open(request, timeout=_TIMEOUT_S) as answer:
        return json.loads(answer.read())


class _Stays(HTTPRedirectHandler):
    """Follows nowhere: the token would go along."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Refuse, so that the answer is told as it is."""
        del req, fp, code, msg, headers, newurl


def _forge(job: Job, environment: Mapping[str, str]) -> _Forge | str:
    name = "GITHUB_TOKEN" if job.provider == "github" else "PERFGATE_GITLAB_TOKEN"
    token, root = environment.get(name, ""), _root(job, environment)
    if not token:
        return f"no comment: {name} is not set"
    parts = urlsplit(root)
    if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
        return f"no comment: the forge's address {root!r} is not https, and a token is not sent in the clear"
    common = {"Content-Type": "application/json", "User-Agent": "shadow-perfgate"}
    if job.provider == "github":
        issue = f"{root}/repos/{job.project}/issues"
        accept = {"Accept": "application/vnd.github+json", "Authorization": f"Bearer {token}"}
        return _Forge(
            f"{issue}/{job.request}/comments",
            f"{issue}/comments/{{}}",
            {**common, **accept},
            "PATCH",
            f"{root.removesuffix('/v3')}/graphql",
            "github-actions[bot]",
        )
    notes = f"{root}/projects/{quote(job.project, safe='')}/merge_requests/{job.request}/notes"
    return _Forge(notes, f"{notes}/{{}}", {**common, "PRIVATE-TOKEN": token}, "PUT", f"{root}/user")


def _root(job: Job, environment: Mapping[str, str]) -> str:
    if job.provider == "github":
        return environment.get("GITHUB_API_URL", "https://api.github.com")
    return environment.get("CI_API_V4_URL", "https://gitlab.com/api/v4")


def _remedy(code: int, job: Job) -> str:
    if code not in {401, 403, 404}:
        return "the report is in the job's artifacts"
    if job.provider == "github":
        return "give the job `pull-requests: write`; a fork's token never has it (post from workflow_run)"
    return "give PERFGATE_GITLAB_TOKEN a project access token with scope api"


def from_environment(decision: Decision, job: Job) -> str:
    """Post with the process's own environment."""
    return post(decision, job, os.environ)
