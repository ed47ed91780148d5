"""The comment on a merge request: made once, then updated; a refused token changes nothing."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from shadow_perfgate.ci import Job, detect
from shadow_perfgate.decide.verdict import Decision
from shadow_perfgate.report import comment, markdown


def written(number: int, body: str, by: str = "gate-bot") -> dict[str, Any]:
    """Return a comment in the form of both forges."""
    return {"id": number, "body": body, "author": {"username": by}}


def decision(key: str = "a", notice: str = "first") -> Decision:
    return Decision((), (notice,), key)


class Forge(ThreadingHTTPServer):
    """Keeps comments as both forges do, and the requests it saw."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, Any]] = [written(n, f"chat {n}") for n in range(130)]
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.status = 200
        self.me: Any = {"username": "gate-bot", "data": {"viewer": {"login": "gate-bot"}}}
        self.me_status = 200
        self.raw = b""

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
        if self.path.endswith(("/user", "/graphql")):
            self.respond(self.server.me, self.server.me_status)
            return
        if self.command == "GET":
            page = int(self.path.rsplit("page=", 1)[1])
            found = comments[100 * (page - 1) : 100 * page]
        elif self.command == "POST":
            comments.append(written(len(comments), **body))
        else:
            comments[int(self.path.rsplit("/", 1)[1])].update(body)
        self.respond(found, self.server.status)

    def respond(self, document: object, status: int) -> None:
        """Send an answer."""
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"{self.server.url}/elsewhere?page=1")
        self.end_headers()
        self.wfile.write(self.server.raw or json.dumps(document).encode())

    do_GET = do_POST = do_PUT = do_PATCH = answer  # noqa: N815 - names the base class looks for

    def log_message(self, *arguments: object) -> None:
        """Stay quiet."""


Place = tuple[Job, dict[str, str]]


@pytest.fixture
def forge() -> Iterator[Forge]:
    server = Forge()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["gitlab", "github"])
def place(request: pytest.FixtureRequest, forge: Forge) -> Place:
    job = Job(provider=request.param, project="acme/llm", request="7")
    if request.param == "gitlab":
        return job, {"CI_API_V4_URL": forge.url, "PERFGATE_GITLAB_TOKEN": "secret-token"}
    return job, {"GITHUB_API_URL": forge.url, "GITHUB_TOKEN": "secret-token"}


def test_one_comment_is_made_and_then_updated(forge: Forge, place: Place) -> None:
    assert "commented" in comment.post(decision(), *place)
    assert "updated" in comment.post(decision(notice="second"), *place)
    assert "commented" in comment.post(decision("b", "other gate"), *place)
    ours = [c["body"] for c in forge.comments if "perfgate" in c["body"]]
    assert [body.splitlines()[0] for body in ours] == ["<!-- perfgate:a -->", "<!-- perfgate:b -->"]
    assert "second" in ours[0]
    assert "first" not in ours[0]
    assert "other gate" in ours[1]


@pytest.mark.parametrize(
    "foreign",
    [
        written(130, "<!-- perfgate:a -->\nforged", by="mallory"),
        written(130, "> <!-- perfgate:a -->\nquoted"),
        written(130, "look:\n<!-- perfgate:a -->\nquoted by the same user"),
        written(130, "<!-- perfgate:a2 -->\nanother gate's"),
        {"id": 130, "body": "<!-- perfgate:a -->\nby a deleted account", "author": None},
    ],
)
def test_what_is_not_ours_is_never_changed(forge: Forge, place: Place, foreign: dict[str, Any]) -> None:
    before = dict(foreign)
    forge.comments.append(foreign)
    assert "commented" in comment.post(decision(), *place)
    assert forge.comments[130] == before
    assert "updated" in comment.post(decision(), *place)


def test_an_actions_token_that_may_not_ask_who_it_is_finds_its_comment(forge: Forge) -> None:
    place = (Job(provider="github", project="acme/llm", request="7"), {"GITHUB_API_URL": forge.url})
    place[1]["GITHUB_TOKEN"] = "secret-token"
    forge.me_status = 403
    forge.comments.append(written(130, "<!-- perfgate:a -->\nold", by="github-actions[bot]"))
    assert "updated" in comment.post(decision(), *place)


@pytest.mark.parametrize("status", [302, 401, 403, 404, 429, 500])
def test_a_refusal_is_told_and_shows_no_token(forge: Forge, place: Place, status: int) -> None:
    forge.status = status
    said = comment.post(decision(), *place)
    assert said.startswith(f"no comment: {status} ")
    assert "secret-token" not in said
    assert not [path for _, path, _ in forge.seen if "elsewhere" in path]


@pytest.mark.parametrize("raw", [b"<html>proxy</html>", b"[1, 2]", b"null", b'{"a": 1}', b"\xff"])
def test_an_answer_that_is_none_of_a_forge_is_no_crash(forge: Forge, place: Place, raw: bytes) -> None:
    forge.raw = raw
    assert comment.post(decision(), *place).startswith("no comment: ")


def test_a_forge_that_is_not_there_is_told(place: Place) -> None:
    job, environment = place
    gone = {k: v if "TOKEN" in k else "http://127.0.0.1:9/api" for k, v in environment.items()}
    assert comment.post(decision(), job, gone).startswith("no comment: ")


def test_no_token_and_no_request_are_told(place: Place) -> None:
    job, environment = place
    assert "is not set" in comment.post(
        decision(), job, {k: v for k, v in environment.items() if "TOKEN" not in k}
    )
    assert "not a merge request" in comment.post(decision(), Job(), environment)


def test_a_token_is_never_sent_in_the_clear(place: Place) -> None:
    job, environment = place
    plain = {k: v if "TOKEN" in k else "http://forge.invalid/api" for k, v in environment.items()}
    assert "not https" in comment.post(decision(), job, plain)


@pytest.mark.parametrize("key", ["a --> <b>", "a--b", "", "x" * 500, "models/a/perfgate/job: 1/2"])
def test_no_key_ends_its_marker(key: str) -> None:
    marker = markdown.marker(key)
    assert marker.count("--") == 2
    assert marker == markdown.marker(key)
    assert "\n" not in marker
    assert len(marker) < 150


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
