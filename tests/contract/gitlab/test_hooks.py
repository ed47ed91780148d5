"""Webhooks: payloads, headers, signatures, order, log, resend, switching off, faults, restarts."""

import base64
import hashlib
import hmac
from typing import Any

import gitlab
import pytest
from gitlab.exceptions import GitlabHttpError
from gitlab.v4.objects import Project

from localcloud.gitlab.testing import Receiver, Server, free_port, wait_for

CI = "test_inference: {script: [a], tags: [shadow-gpu]}"
QUIET = {"push_events": False}
SIGNING = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
JOB_FIELDS = {
    "object_kind", "ref", "tag", "before_sha", "sha", "retries_count", "build_id", "build_name",
    "build_stage",
    "build_status", "build_created_at", "build_started_at", "build_finished_at", "build_created_at_iso",
    "build_started_at_iso", "build_finished_at_iso", "build_duration", "build_queued_duration",
    "build_allow_failure",
    "build_failure_reason", "pipeline_id", "runner", "project_id", "project_name", "user", "commit",
    "repository",
    "project", "environment",
}  # fmt: skip


@pytest.fixture
def project(server: Server, gl: gitlab.Gitlab) -> Project:
    """A project whose CI file has not run yet."""
    return gl.projects.get(server.seed({".gitlab-ci.yml": CI}, pipeline=False))


def test_the_job_hook_of_a_waiting_job_names_no_tags(
    server: Server, project: Project, receiver: Receiver
) -> None:
    project.hooks.create({"url": receiver.url, "job_events": True} | QUIET)
    project.pipelines.create({"ref": "main"})
    bodies = [receiver.get() for _ in range(2)]
    assert [body["build_status"] for _, body in bodies] == ["created", "pending"]
    headers, body = bodies[1]
    assert headers["x-gitlab-event"] == "Job Hook"
    assert set(body) == JOB_FIELDS
    assert (body["object_kind"], body["build_name"], body["tag"]) == ("build", "test_inference", False)
    assert body["runner"] is None
    assert "shadow-gpu" not in str(body)
    job = project.jobs.get(body["build_id"])
    assert job.tag_list == ["shadow-gpu"]
    assert body["commit"]["id"] == body["pipeline_id"]


def test_the_runner_and_its_tags_are_told_once_it_took_the_job(
    server: Server, project: Project, receiver: Receiver
) -> None:
    runner = server.runner(project.id, tag_list=["shadow-gpu"], description="gpu-01")
    project.pipelines.create({"ref": "main"})
    project.hooks.create({"url": receiver.url, "job_events": True} | QUIET)
    runner.finish(runner.take(), "failed", failure_reason="script_failure")
    running, failed = receiver.get()[1], receiver.get()[1]
    assert (running["build_status"], running["build_started_at"] is not None) == ("running", True)
    assert running["runner"] == {
        "id": runner.runner_id, "description": "gpu-01", "runner_type": "project_type", "active": True,
        "is_shared": False, "tags": ["shadow-gpu"],
    }  # fmt: skip
    assert (failed["build_status"], failed["build_failure_reason"]) == ("failed", "script_failure")
    assert failed["build_duration"] >= 0


def test_headers_secret_custom_ones_and_signature(
    server: Server, project: Project, receiver: Receiver
) -> None:
    project.hooks.create(
        {"url": receiver.url, "job_events": True, "token": "plain-secret", "signing_token": SIGNING,
         "custom_headers": [{"key": "X-Route", "value": "a"}]} | QUIET
    )  # fmt: skip
    project.pipelines.create({"ref": "main"})
    headers, body = receiver.raw()
    assert headers["x-gitlab-token"] == "plain-secret"
    assert headers["x-route"] == "a"
    assert headers["x-gitlab-instance"] == server.url
    assert (
        len({headers[name] for name in ("x-gitlab-event-uuid", "x-gitlab-webhook-uuid", "idempotency-key")})
        == 3
    )
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(SIGNING.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_secrets_of_a_hook_are_never_shown(server: Server, project: Project, receiver: Receiver) -> None:
    secret = {
        "token": "plain-secret",
        "signing_token": SIGNING,
        "custom_headers": [{"key": "X-Key", "value": "hidden"}],
    }
    hook = project.hooks.create({"url": receiver.url, "push_events": True} | secret)
    project.files.create(
        {"file_path": "a", "branch": "main", "content": "1", "commit_message": "m [skip ci]"}
    )
    receiver.raw()
    base = f"/projects/{project.id}/hooks/{hook.id}"
    log = wait_for(lambda: server.api("GET", f"{base}/events").json())
    shown = server.api("GET", base).text + str(log)
    assert all(word not in shown for word in ("plain-secret", SIGNING, "hidden"))
    assert log[0]["request_headers"]["X-Gitlab-Token"] == "[REDACTED]"


def test_push_pipeline_merge_request_and_note_hooks(project: Project, receiver: Receiver) -> None:
    events = {f"{name}_events": True for name in ("push", "pipeline", "merge_requests", "note", "tag_push")}
    project.hooks.create({"url": receiver.url} | events)
    project.branches.create({"branch": "topic", "ref": "main"})
    headers, body = receiver.get()
    assert (headers["x-gitlab-event"], body["ref"], body["before"]) == (
        "Push Hook",
        "refs/heads/topic",
        "0" * 40,
    )
    kinds = [receiver.get()[1]["object_attributes"]["status"] for _ in range(2)]
    assert kinds == ["created", "pending"]
    project.files.create(
        {"file_path": "a", "branch": "topic", "content": "1", "commit_message": "m [skip ci]"}
    )
    assert [item["title"] for item in receiver.get()[1]["commits"]] == ["m [skip ci]"]
    assert receiver.get()[1]["object_attributes"]["status"] == "skipped"
    request = project.mergerequests.create({"source_branch": "topic", "target_branch": "main", "title": "T"})
    headers, body = receiver.get()
    assert (headers["x-gitlab-event"], body["object_attributes"]["action"]) == ("Merge Request Hook", "open")
    request.notes.create({"body": "hello"})
    headers, body = receiver.get()
    assert (headers["x-gitlab-event"], body["object_attributes"]["note"]) == ("Note Hook", "hello")
    project.tags.create({"tag_name": "v1", "ref": "topic"})
    assert receiver.get()[0]["x-gitlab-event"] == "Tag Push Hook"


def test_group_hooks_hear_of_all_projects_below(
    server: Server, gl: gitlab.Gitlab, receiver: Receiver
) -> None:
    project = gl.projects.get(server.seed({".gitlab-ci.yml": CI}, pipeline=False))
    group_id = project.namespace["id"]
    made = server.api(
        "POST", f"/groups/{group_id}/hooks", json={"url": receiver.url, "job_events": True} | QUIET
    )
    assert made.status_code == 201
    project.pipelines.create({"ref": "main"})
    assert receiver.get()[1]["project_id"] == project.id
    assert server.api("DELETE", f"/groups/{group_id}/hooks/{made.json()['id']}").status_code == 204


def test_only_loopback_targets_and_good_signing_tokens(project: Project) -> None:
    fields: list[dict[str, Any]] = [
        {"url": "http://10.0.0.1/"}, {"url": "ftp://127.0.0.1/"},
        {"url": "http://127.0.0.1/", "signing_token": "x"},
    ]  # fmt: skip
    for body in fields:
        with pytest.raises(GitlabHttpError) as refused:
            project.manager.gitlab.http_post(f"/projects/{project.id}/hooks", post_data=body)
        assert refused.value.response_code == 422


def test_resend_and_test_calls(server: Server, project: Project, receiver: Receiver) -> None:
    hook = project.hooks.create({"url": receiver.url, "push_events": True})
    base = f"/projects/{project.id}/hooks/{hook.id}"
    assert server.api("POST", f"{base}/test/push_events").status_code == 201
    first, body = receiver.raw()
    event = server.api("GET", f"{base}/events").json()[0]
    assert (event["response_status"], event["trigger"]) == ("200", "push_hooks")
    resent = server.api("POST", f"{base}/events/{event['id']}/resend")
    assert (resent.status_code, resent.json()) == (201, {"response_status": 200})
    second, again = receiver.raw()
    assert (second["idempotency-key"], again) == (first["idempotency-key"], body)
    assert second["x-gitlab-event-uuid"] != first["x-gitlab-event-uuid"]


def test_failing_hooks_rest_longer_each_time(own_server: Server, receiver: Receiver) -> None:
    project_id = own_server.seed()
    receiver.status = 500
    made = own_server.api("POST", f"/projects/{project_id}/hooks", json={"url": receiver.url}).json()
    base = f"/projects/{project_id}/hooks/{made['id']}"

    def fail(number: int) -> dict[str, Any]:
        """One more push; gives the hook once its failure is counted."""
        body = {"branch": "main", "commit_message": "m", "content": str(number)}
        own_server.api("POST", f"/projects/{project_id}/repository/files/f{number}", json=body)
        receiver.raw()
        wait_for(lambda: len(own_server.api("GET", f"{base}/events?per_page=100").json()) == number)
        found: dict[str, Any] = own_server.api("GET", base).json()
        return found

    assert [fail(number)["alert_status"] for number in range(1, 5)] == ["executable"] * 3 + [
        "temporarily_disabled"
    ]
    own_server.sim("POST", "/clock", advance_s=61)
    assert own_server.api("GET", base).json()["alert_status"] == "executable"
    assert fail(5)["alert_status"] == "temporarily_disabled"
    own_server.sim("POST", "/clock", advance_s=61)
    assert own_server.api("GET", base).json()["alert_status"] == "temporarily_disabled"
    changed = own_server.api("PUT", base, json={"url": receiver.url + "2"}).json()
    assert changed["alert_status"] == "executable"


def test_a_hook_that_rests_hears_nothing(own_server: Server, receiver: Receiver) -> None:
    project_id = own_server.seed()
    dead = own_server.api(
        "POST", f"/projects/{project_id}/hooks", json={"url": f"http://127.0.0.1:{free_port()}/"}
    ).json()
    own_server.api("POST", f"/projects/{project_id}/hooks", json={"url": receiver.url})
    url = f"/projects/{project_id}/hooks/{dead['id']}/events"

    def push(number: int) -> None:
        """Push, and wait until the dead hook was tried as often as it should have been."""
        body = {"branch": "main", "commit_message": "m", "content": "1"}
        own_server.api("POST", f"/projects/{project_id}/repository/files/f{number}", json=body)
        receiver.raw()
        wait_for(lambda: len(own_server.api("GET", url).json()) == min(number + 1, 4))

    for number in range(6):
        push(number)
    events = own_server.api("GET", url).json()
    assert {event["response_status"] for event in events} == {"internal error"}
    assert len(events) == 4


@pytest.mark.parametrize(("kind", "times"), [("hook_lost", 0), ("hook_doubled", 2)])
def test_lost_and_doubled_deliveries(own_server: Server, receiver: Receiver, kind: str, times: int) -> None:
    project_id = own_server.seed()
    own_server.api("POST", f"/projects/{project_id}/hooks", json={"url": receiver.url})
    own_server.sim("POST", "/faults", kind=kind, event="Push Hook", times=1)
    for name in ("one", "two"):
        body = {"branch": "main", "commit_message": name, "content": "1"}
        own_server.api("POST", f"/projects/{project_id}/repository/files/{name}", json=body)
    bodies = [receiver.get() for _ in range(times + 1)]
    assert [body["commits"][-1]["title"] for _, body in bodies] == ["one"] * times + ["two"]
    if times == 2:
        assert bodies[0][0]["idempotency-key"] == bodies[1][0]["idempotency-key"]


def test_deliveries_survive_a_kill(own_server: Server, receiver: Receiver) -> None:
    project_id = own_server.seed()
    own_server.api("POST", f"/projects/{project_id}/hooks", json={"url": receiver.url})
    own_server.sim("POST", "/faults", kind="hook_delayed", delay_s=600, times=1)
    body = {"branch": "main", "commit_message": "kept", "content": "1"}
    own_server.api("POST", f"/projects/{project_id}/repository/files/a", json=body)
    wait_for(lambda: own_server.sim("GET", "/faults") == [])
    own_server.kill()
    own_server.start()
    assert receiver.get()[1]["commits"][-1]["title"] == "kept"
