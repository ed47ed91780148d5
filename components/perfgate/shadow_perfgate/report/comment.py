"""One comment on the merge or pull request, made once and then kept up to date.

A token that may not comment (a fork's, or GitLab's job token) changes nothing in the verdict: the reason is
returned.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from shadow_perfgate.ci import Job
from shadow_perfgate.report.markdown import marker

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


def post(body: str, name: str, job: Job, environment: Mapping[str, str]) -> str:
    """Make or update the comment of gate `name`; return what was done, or why not, in one line."""
    if not job.request:
        return "no comment: this is not a merge request"
    forge = _forge(job, environment)
    if isinstance(forge, str):
        return forge
    try:
        return _upsert(forge, body, marker(name))
    except HTTPError as error:
        said = f"{error.code} {error.reason} from {urlsplit(error.url).netloc}"
        return f"no comment: {said}; {_remedy(error.code, job)}"
    except (URLError, TimeoutError, ValueError) as error:
        return f"no comment: {error}"


def _upsert(forge: _Forge, body: str, hidden: str) -> str:
    for comment in _comments(forge):
        if hidden in str(comment.get("body", "")):
            _call(forge, forge.update, forge.one_url.format(comment["id"]), {"body": body})
            return "updated the comment on the merge request"
    _call(forge, "POST", forge.list_url, {"body": body})
    return "commented on the merge request"


def _comments(forge: _Forge) -> Iterator[dict[str, Any]]:
    for page in range(1, _PAGES + 1):
        found = _call(forge, "GET", f"{forge.list_url}?per_page=100&page={page}", None)
        yield from found
        if len(found) < 100:
            return


def _call(forge: _Forge, method: str, url: str, body: object) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, dict(forge.headers), method=method)  # noqa: S310 - scheme checked in _forge
    with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
        return json.loads(answer.read())


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
            f"{issue}/{job.request}/comments", f"{issue}/comments/{{}}", {**common, **accept}, "PATCH"
        )
    notes = f"{root}/projects/{quote(job.project, safe='')}/merge_requests/{job.request}/notes"
    return _Forge(notes, f"{notes}/{{}}", {**common, "PRIVATE-TOKEN": token}, "PUT")


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


def from_environment(body: str, name: str, job: Job) -> str:
    """Post with the process's own environment."""
    return post(body, name, job, os.environ)
