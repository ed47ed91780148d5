"""The comment on a merge request: made once, then updated; a refused token changes nothing."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from shadow_perfgate.ci import Job, detect
from shadow_perfgate.report import comment


class Forge(ThreadingHTTPServer):
    """Keeps comments as both forges do, and the requests it saw."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, Any]] = [{"id": n, "body": f"chat {n}"} for n in range(130)]
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.status = 200

    @property
    def url(self) -> str:
        """Return the address of its API."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers list, create and update."""

    server: Forge

    def answer(self) -> None:
        """Do what the request asks."""
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        comments, found = self.server.comments, []
        if self.command == "GET":
            page = int(self.path.rsplit("page=", 1)[1])
            found = comments[100 * (page - 1) : 100 * page]
        elif self.command == "POST":
            comments.append({"id": len(comments), **body})
        else:
            comments[int(self.path.rsplit("/", 1)[1])].update(body)
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    do_GET = do_POST = do_PUT = do_PATCH = answer  # noqa: N815 - names the base class looks for

    def log_message(self, *arguments: object) -> None:
        """Stay quiet."""


@pytest.fixture
def forge() -> Iterator[Forge]:
    server = Forge()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["gitlab", "github"])
def place(request: pytest.FixtureRequest, forge: Forge) -> tuple[Job, dict[str, str]]:
    job = Job(provider=request.param, project="acme/llm", request="7")
    if request.param == "gitlab":
        return job, {"CI_API_V4_URL": forge.url, "PERFGATE_GITLAB_TOKEN": "secret-token"}
    return job, {"GITHUB_API_URL": forge.url, "GITHUB_TOKEN": "secret-token"}


def test_one_comment_is_made_and_then_updated(forge: Forge, place: tuple[Job, dict[str, str]]) -> None:
    job, environment = place
    assert "commented" in comment.post("<!-- perfgate:a -->\nfirst", "a", job, environment)
    assert "updated" in comment.post("<!-- perfgate:a -->\nsecond", "a", job, environment)
    assert "commented" in comment.post("<!-- perfgate:b -->\nother gate", "b", job, environment)
    ours = [c["body"] for c in forge.comments if "perfgate" in c["body"]]
    assert ours == ["<!-- perfgate:a -->\nsecond", "<!-- perfgate:b -->\nother gate"]


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_refusal_is_told_and_shows_no_token(
    forge: Forge, place: tuple[Job, dict[str, str]], status: int
) -> None:
    forge.status = status
    said = comment.post("<!-- perfgate:a -->", "a", *place)
    assert said.startswith(f"no comment: {status} ")
    assert "secret-token" not in said


def test_no_token_and_no_request_are_told(place: tuple[Job, dict[str, str]]) -> None:
    job, environment = place
    assert "is not set" in comment.post(
        "x", "a", job, {k: v for k, v in environment.items() if "TOKEN" not in k}
    )
    assert "not a merge request" in comment.post("x", "a", Job(), environment)


def test_a_token_is_never_sent_in_the_clear(place: tuple[Job, dict[str, str]]) -> None:
    job, environment = place
    plain = {k: v if "TOKEN" in k else "http://forge.invalid/api" for k, v in environment.items()}
    assert "not https" in comment.post("x", "a", job, plain)


def test_the_job_of_a_merge_request_is_known_on_gitlab() -> None:
    job = detect({
        "GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_PATH": "acme/llm",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "b" * 40, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_COMMIT_BRANCH": "feature",
    })  # fmt: skip
    assert (job.request, job.base, job.target, job.branch) == ("7", "b" * 40, "main", "")


def test_the_job_of_a_pull_request_is_known_on_github(tmp_path: Any) -> None:
    event = tmp_path / "event.json"
    event.write_text(
        json.dumps({"pull_request": {"number": 12, "base": {"sha": "b" * 40}}}), encoding="utf-8"
    )
    job = detect({
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "acme/llm",
        "GITHUB_BASE_REF": "main", "GITHUB_REF_NAME": "12/merge", "GITHUB_RUN_ATTEMPT": "3",
    })  # fmt: skip
    assert (job.request, job.base, job.target, job.branch, job.attempt) == ("12", "b" * 40, "main", "", 3)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"pull_request": null}'])
def test_a_broken_event_file_is_no_crash(tmp_path: Any, content: str) -> None:
    event = tmp_path / "event.json"
    event.write_text(content, encoding="utf-8")
    assert detect({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(event)}).request == ""
    assert detect({}).provider == ""
