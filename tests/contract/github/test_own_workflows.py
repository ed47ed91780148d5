"""The project's own workflows, run on the simulated GitHub: one comment, brought up to date; `pulumi up`."""

import base64
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from contract import own_pipelines
from contract.github.harness import ROOT, Finish, Forge, StartScript
from nacl.public import PublicKey, SealedBox

REPO = "/repos/acme/inference"
WORKFLOW = ".github/workflows/preview.yml"
DEPLOY = ".github/workflows/deploy.yml"


@dataclass(frozen=True, slots=True)
class Request:
    """A pull request against a repository with the workflow."""

    forge: Forge
    api: httpx.Client
    number: int
    work: Callable[[], object]
    finished: Finish

    def push(self, path: str, text: str) -> None:
        found = self.api.get(f"{REPO}/contents/{path}", params={"ref": "topic"})
        body = {"message": "m", "branch": "topic", "content": base64.b64encode(text.encode()).decode()}
        if found.status_code == 200:
            body["sha"] = found.json()["sha"]
        assert self.api.put(f"{REPO}/contents/{path}", json=body).is_success

    def plan(self, sample: str) -> None:
        """Push a change of the stack that the engine previews so."""
        for path, text in own_pipelines.planned(sample).items():
            self.push(path, text)

    def runs(self) -> list[dict[str, Any]]:
        return list(self.api.get(f"{REPO}/actions/runs").json()["workflow_runs"])

    def ended(self) -> tuple[str, str]:
        """Let a runner take the latest run; return its conclusion and its log."""
        self.work()
        run = self.finished(self.runs()[0])
        (job,) = self.api.get(f"{REPO}/actions/runs/{run['id']}/jobs").json()["jobs"]
        log = self.api.get(f"{REPO}/actions/jobs/{job['id']}/logs", follow_redirects=True).text
        return str(run["conclusion"]), log

    def comments(self) -> list[dict[str, Any]]:
        return list(self.api.get(f"{REPO}/issues/{self.number}/comments").json())


@pytest.fixture
def request_(
    forge: Forge, api: httpx.Client, run_script: StartScript, finished: Finish
) -> Callable[..., Request]:
    def make(workflow: str | None = None, path: str = os.defpath) -> Request:
        files = own_pipelines.files(WORKFLOW) | ({WORKFLOW: workflow} if workflow else {})
        executable = list(filter(own_pipelines.executable, files))
        body = {"repository": "acme/inference", "branch": "main", "files": files, "executable": executable}
        sha = forge.sim("POST", "/files", body)["sha"]
        api.post(f"{REPO}/actions/variables", json={"name": "PULUMI_STACK", "value": "dev"})
        api.post(f"{REPO}/git/refs", json={"ref": "refs/heads/topic", "sha": sha})
        pull = api.post(f"{REPO}/pulls", json={"title": "Scale", "head": "topic", "base": "main"}).json()

        def work() -> object:
            names = {"name": f"hosted-{len(made.runs())}", "labels": ["ubuntu-24.04"], "runner_group_id": 1}
            jit = api.post("/orgs/acme/actions/runners/generate-jitconfig", json=names).json()
            root = str(names["name"])
            return run_script("run.sh", "--jitconfig", jit["encoded_jit_config"], root=root, PATH=path)

        made = Request(forge, api, pull["number"], work, finished)
        return made

    return make


def test_a_pull_request_gets_one_comment_which_the_next_push_brings_up_to_date(
    request_: Callable[..., Request],
) -> None:
    request = request_()
    assert request.runs() == []  # nothing of the stack has changed yet
    request.push("docs/note.md", "text")
    assert request.runs() == []
    request.plan("create")
    conclusion, log = request.ended()
    assert conclusion == "failure", log  # by a policy
    (first,) = request.comments()
    assert "Preview of `acme/dev`: 10 created" in first["body"]
    assert first["user"]["login"] == "github-actions[bot]"
    request.plan("destroy")
    conclusion, log = request.ended()
    assert conclusion == "success", log
    (second,) = request.comments()
    assert second["id"] == first["id"]
    assert "destroyed" in second["body"]
    assert "10 created" not in second["body"]


def test_a_token_that_may_not_comment_changes_no_verdict(request_: Callable[..., Request]) -> None:
    text = (ROOT / WORKFLOW).read_text(encoding="utf-8")
    request = request_(text.replace("pull-requests: write", "pull-requests: read"))
    request.plan("destroy")
    conclusion, log = request.ended()
    assert conclusion == "success", log
    assert "the token may not comment" in log
    assert request.comments() == []


def test_the_workflow_that_the_how_to_offers_comments_as_well(
    request_: Callable[..., Request], tmp_path: Path
) -> None:
    page = (ROOT / "docs/how-to/preview-in-pull-requests.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(rf"```yaml\n# {WORKFLOW}\n(.*?)```", page, re.DOTALL)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, program in {"python": sys.executable, "pulumi": "fake/pulumi"}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    request = request_(workflow, f"{tools}:{os.defpath}")
    request.ended()  # it has no path filter, so it has run for the branch as it was opened
    request.plan("create")
    _, log = request.ended()
    assert "added a comment" in log
    (comment,) = request.comments()
    assert "Preview of `acme/dev`: 10 created" in comment["body"], log


@pytest.fixture
def secret(api: httpx.Client) -> str:
    """A clouds.yaml among the repository's secrets."""
    text = "clouds: {ci: {auth: {application_credential_secret: planted-5512}}}"
    key = api.get(f"{REPO}/actions/secrets/public-key").json()
    sealed = SealedBox(PublicKey(base64.b64decode(key["key"]))).encrypt(text.encode())
    body = {"key_id": key["key_id"], "encrypted_value": base64.b64encode(sealed).decode()}
    api.put(f"{REPO}/actions/secrets/CLOUDS_YAML", json=body)
    return text


def test_main_brings_the_stack_up_with_policies_when_its_files_have_changed(
    forge: Forge, api: httpx.Client, jit_runner: StartScript, finished: Finish, secret: str
) -> None:
    api.post(f"{REPO}/actions/variables", json={"name": "PULUMI_STACK", "value": "dev"})
    files = own_pipelines.files(DEPLOY)
    executable = list(filter(own_pipelines.executable, files))
    body = {"repository": "acme/inference", "branch": "main", "files": files, "executable": executable}
    (started,) = forge.sim("POST", "/files", body)["runs"]
    assert forge.sim("POST", "/files", {**body, "files": {"docs/note.md": "text"}})["runs"] == []
    jit_runner("hosted", ["ubuntu-24.04"])
    run = finished({"id": started})
    (job,) = api.get(f"{REPO}/actions/runs/{started}/jobs").json()["jobs"]
    log = api.get(f"{REPO}/actions/jobs/{job['id']}/logs", follow_redirects=True).text
    assert run["conclusion"] == "success", log
    assert "pulumi up --non-interactive --yes --skip-preview --refresh --suppress-outputs --stack dev" in log
    assert "--policy-pack tests/policy --policy-pack-config tests/policy/config.json" in log
    assert "credential 600" in log
    assert "planted" not in log
