"""Repositories, files, pull requests, workflow triggers, pages for a person."""

import base64
from typing import Any

import httpx
import pytest
from contract.github.harness import Forge, StartRun, workflow

REPO = "/repos/acme/inference"
WORKFLOW = ".github/workflows/ci.yml"


def put(api: httpx.Client, path: str, text: str, **more: str) -> httpx.Response:
    content = base64.b64encode(text.encode()).decode()
    return api.put(f"{REPO}/contents/{path}", json={"message": "m", "content": content, **more})


def test_a_repository_is_made_found_by_number_changed_and_removed(api: httpx.Client) -> None:
    made = api.post("/orgs/acme/repos", json={"name": "new", "private": True})
    assert made.status_code == 201
    number = made.json()["id"]
    assert api.get(f"/repositories/{number}").json()["full_name"] == "acme/new"
    assert api.post("/orgs/acme/repos", json={"name": "NEW"}).status_code == 422
    assert api.patch("/repos/acme/new", json={"description": "d"}).json()["description"] == "d"
    assert api.delete("/repos/acme/new").status_code == 204
    assert api.get("/repos/acme/new").status_code == 404


def test_a_file_is_changed_only_with_its_sha(api: httpx.Client) -> None:
    first = put(api, "a.txt", "one")
    assert first.status_code == 201
    sha = first.json()["content"]["sha"]
    assert put(api, "a.txt", "two").status_code == 422
    assert put(api, "a.txt", "two", sha="0" * 40).status_code == 409
    assert put(api, "a.txt", "two", sha=sha).status_code == 200
    shown = api.get(f"{REPO}/contents/a.txt").json()
    assert base64.b64decode(shown["content"]) == b"two"
    gone = api.request("DELETE", f"{REPO}/contents/a.txt", json={"message": "m", "sha": shown["sha"]})
    assert gone.status_code == 200
    assert api.get(f"{REPO}/contents/a.txt").status_code == 404


def test_a_pushed_workflow_file_starts_a_run(api: httpx.Client) -> None:
    put(api, WORKFLOW, workflow())
    (run,) = api.get(f"{REPO}/actions/runs").json()["workflow_runs"]
    assert (run["event"], run["head_branch"], run["name"], run["path"]) == ("push", "main", "ci", WORKFLOW)


def test_a_refused_workflow_file_is_a_failed_run(api: httpx.Client) -> None:
    put(api, WORKFLOW, "on: push\njobs: {a: {steps: []}}")
    (run,) = api.get(f"{REPO}/actions/runs").json()["workflow_runs"]
    assert run["conclusion"] == "failure"


def test_a_pull_request_starts_its_workflow_and_takes_comments(forge: Forge, api: httpx.Client) -> None:
    put(api, "a.txt", "one")
    sha = api.get(f"{REPO}/branches/main").json()["commit"]["sha"]
    assert api.post(f"{REPO}/git/refs", json={"ref": "refs/heads/topic", "sha": sha}).status_code == 201
    put(api, WORKFLOW, workflow().replace("on: push", "on: pull_request"), branch="topic")
    body = {"title": "Add", "head": "topic", "base": "main"}
    pull = api.post(f"{REPO}/pulls", json=body)
    assert pull.status_code == 201
    assert api.post(f"{REPO}/pulls", json=body).status_code == 422
    (run,) = api.get(f"{REPO}/actions/runs").json()["workflow_runs"]
    assert (run["event"], run["head_branch"]) == ("pull_request", "topic")
    comments = f"{REPO}/issues/{pull.json()['number']}/comments"
    comment = api.post(comments, json={"body": "cost 1"}).json()
    api.patch(f"{REPO}/issues/comments/{comment['id']}", json={"body": "cost 2"})
    assert [item["body"] for item in api.get(comments).json()] == ["cost 2"]
    assert api.post(comments, json={"body": "x" * 65_537}).status_code == 422


def test_a_dispatch_needs_the_trigger_and_fitting_inputs(api: httpx.Client) -> None:
    trigger = "workflow_dispatch: {inputs: {size: {required: true}, mode: {default: fast}}}"
    put(api, WORKFLOW, workflow("- run: echo").replace("on: push", f"on: {{{trigger}}}"))
    path = f"{REPO}/actions/workflows/ci.yml/dispatches"
    assert api.post(path, json={"ref": "main"}).status_code == 422
    assert api.post(path, json={"ref": "main", "inputs": {"size": "1", "x": "1"}}).status_code == 422
    assert api.post(path, json={"ref": "nowhere", "inputs": {"size": "1"}}).status_code == 422
    assert api.post(path, json={"ref": "main", "inputs": {"size": "1"}}).status_code == 204
    assert api.get(f"{REPO}/actions/runs").json()["workflow_runs"][0]["event"] == "workflow_dispatch"


def test_a_page_for_a_person_shows_runs_jobs_and_logs(forge: Forge, start_run: StartRun) -> None:
    run: Any = start_run(workflow("- run: echo '<b>'"))
    for path in ("/", f"/acme/inference/actions/runs/{run['id']}"):
        text = httpx.get(f"{forge.url}{path}", trust_env=False).text
        assert str(run["id"]) in text or "test" in text
        assert "<b>" not in text
    assert httpx.get(f"{forge.url}/acme/inference/actions/runs/1", trust_env=False).status_code == 404


def test_graphql_knows_the_viewer(forge: Forge, api: httpx.Client) -> None:
    answer = httpx.post(
        f"{forge.url}/api/graphql",
        json={"query": "{ viewer { login } }"},
        headers=api.headers,
        trust_env=False,
    )
    assert answer.json()["data"]["viewer"]["login"] == "platform-admin"


@pytest.mark.parametrize("body", [b"{", b'"text"', b"\xff"])
def test_a_body_that_is_no_json_object_is_refused(api: httpx.Client, body: bytes) -> None:
    assert api.post("/orgs/acme/hooks", content=body).status_code == 400


def test_an_unknown_path_is_not_found(api: httpx.Client) -> None:
    assert api.get("/nothing/here").json()["message"] == "Not Found"
