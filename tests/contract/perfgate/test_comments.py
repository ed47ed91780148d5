"""The gate's comment on simulated forges: whose it is, and real refusals, which change nothing."""

import base64
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest
from contract.github.harness import Forge

from localcloud.gitlab.testing import Server
from shadow_perfgate.ci import Job
from shadow_perfgate.decide.verdict import Decision, Verdict, WorkloadDecision
from shadow_perfgate.report import comment, markdown

REPO = "/repos/acme/inference"
MARKER = markdown.marker("perfgate")


def decision(text: str = "first") -> Decision:
    return Decision((WorkloadDecision("decode", Verdict.FAIL),), (text,), "perfgate")


@dataclass
class GitLab:
    """A merge request, with a token of a project's bot."""

    server: Server
    project: int
    path: str

    def post(self, token: str, text: str = "first") -> str:
        job = Job(provider="gitlab", project=self.path, request="1")
        return comment.post(
            decision(text),
            job,
            {"CI_API_V4_URL": f"{self.server.url}/api/v4", "PERFGATE_GITLAB_TOKEN": token},
        )

    def bodies(self) -> list[str]:
        found = self.server.api("GET", f"/projects/{self.project}/merge_requests/1/notes?sort=asc").json()
        return [note["body"] for note in found]

    def write(self, body: str, token: str | None = None) -> None:
        path = f"/projects/{self.project}/merge_requests/1/notes"
        self.server.api("POST", path, token=token, json={"body": body}).raise_for_status()


@pytest.fixture
def gitlab(tmp_path: Path) -> Iterator[GitLab]:
    server = Server(tmp_path)
    server.start()
    try:
        project = server.seed()
        path = str(server.api("GET", f"/projects/{project}").json()["path_with_namespace"])
        change = {"action": "create", "file_path": "x", "content": "x"}
        commit = {"branch": "b", "start_branch": "main", "commit_message": "b", "actions": [change]}
        server.api("POST", f"/projects/{project}/repository/commits", json=commit).raise_for_status()
        request = {"source_branch": "b", "target_branch": "main", "title": "b"}
        server.api("POST", f"/projects/{project}/merge_requests", json=request).raise_for_status()
        yield GitLab(server, project, path)
    finally:
        server.kill()


def test_on_gitlab_only_the_tokens_own_comment_is_updated(gitlab: GitLab) -> None:
    bot = gitlab.server.user("gate-bot", None, **{gitlab.path: "reporter"})
    # An administrator's token could change anybody's.
    gitlab.write(f"{MARKER}\nforged")
    gitlab.write(f"> {MARKER}\nquoted", bot)
    assert gitlab.post(bot) == "commented on the merge request"
    assert gitlab.post(bot, "second") == "updated the comment on the merge request"
    assert gitlab.post(gitlab.server.admin_token, "third") == "updated the comment on the merge request"
    forged, quoted, own = gitlab.bodies()
    assert "third" in forged
    assert "quoted" in quoted
    assert "second" in own


def test_on_gitlab_a_refusal_says_what_the_token_needs(gitlab: GitLab) -> None:
    guest = gitlab.server.user("guest", None, **{gitlab.path: "guest"})
    reader = gitlab.server.user("reader", ["read_api"], **{gitlab.path: "reporter"})
    stranger = gitlab.server.user("stranger")
    said = {
        name: gitlab.post(token) for name, token in (("guest", guest), ("reader", reader), ("x", stranger))
    }
    assert "no comment: 403 " in said["guest"]
    assert "no comment: 403 " in said["reader"]
    assert "no comment: 404 " in said["x"]
    assert "no comment: 401 " in gitlab.post("glpat-unknown")
    assert all("project access token with scope api" in text for text in said.values())
    assert gitlab.bodies() == []
    assert decision().verdict.exit_code == 1


@dataclass
class GitHub:
    """A pull request."""

    forge: Forge
    number: int

    def post(self, token: str, text: str = "first") -> str:
        job = Job(provider="github", project="acme/inference", request=str(self.number))
        return comment.post(
            decision(text), job, {"GITHUB_API_URL": f"{self.forge.url}/api/v3", "GITHUB_TOKEN": token}
        )

    def call(self, method: str, path: str, token: str | None = None, **body: object) -> Any:
        with self.forge.api(token) if token else self.forge.api() as api:
            answer = api.request(method, path, json=body or None)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def bodies(self) -> list[str]:
        return [one["body"] for one in self.call("GET", f"{REPO}/issues/{self.number}/comments")]


@pytest.fixture(scope="module")
def github_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    forge = Forge(tmp_path_factory.mktemp("github"))
    forge.start()
    yield forge
    forge.kill()


@pytest.fixture
def github(github_process: Forge) -> GitHub:
    github_process.sim("POST", "/reset")
    made = GitHub(github_process, 0)
    content = base64.b64encode(b"x").decode()
    made.call("PUT", f"{REPO}/contents/a.txt", message="x", content=content)
    head = made.call("GET", f"{REPO}/branches/main")["commit"]["sha"]
    made.call("POST", f"{REPO}/git/refs", ref="refs/heads/topic", sha=head)
    made.call("PUT", f"{REPO}/contents/x", message="x", content=content, branch="topic")
    made.number = made.call("POST", f"{REPO}/pulls", title="x", head="topic", base="main")["number"]
    return made


def app_token(github: GitHub, level: str) -> str:
    """Return a token like that of an Actions job, which may not ask whose it is."""
    app = github.forge.sim("POST", "/apps", {"name": "gate", "permissions": {"pull_requests": level}})
    installation = github.forge.sim("POST", "/installations", {"app_id": app["id"], "account": "acme"})
    now = int(time.time())
    claims = {"iat": now - 60, "exp": now + 540, "iss": app["client_id"]}
    signed = jwt.encode(claims, app["pem"], "RS256")
    path = f"/app/installations/{installation['id']}/access_tokens"
    return str(github.call("POST", path, signed)["token"])


def test_on_github_only_the_tokens_own_comment_is_updated(github: GitHub) -> None:
    owner = github.forge.sim("POST", "/tokens", {})["token"]
    other = app_token(github, "write")
    github.call("POST", f"{REPO}/issues/{github.number}/comments", other, body=f"{MARKER}\nforged")
    github.call("POST", f"{REPO}/issues/{github.number}/comments", owner, body=f"> {MARKER}\nquoted")
    assert github.post(owner) == "commented on the merge request"
    assert github.post(owner, "second") == "updated the comment on the merge request"
    forged, quoted, own = github.bodies()
    assert ("forged" in forged, "quoted" in quoted, "second" in own) == (True, True, True)


def test_on_github_a_refusal_says_what_the_token_needs(github: GitHub) -> None:
    weak = github.forge.sim("POST", "/tokens", {"login": "stranger", "scopes": []})["token"]
    fork = app_token(github, "read")
    for token, code in (("ghp_unknown", "401"), (weak, "40"), (fork, "403")):
        said = github.post(token)
        assert said.startswith(f"no comment: {code}"), said
        assert "`pull-requests: write`" in said
    assert github.bodies() == []
