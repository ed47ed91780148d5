"""Pipelines from CI files: stages, needs, rules, manual jobs, retries, merge requests, faults in the file."""

from typing import Any

import gitlab
import httpx
import pytest
from gitlab.exceptions import GitlabCreateError
from gitlab.v4.objects import Project

from localcloud.gitlab.testing import FakeRunner, Server


def make(server: Server, gl: gitlab.Gitlab, ci: str, **files: str) -> tuple[Project, FakeRunner]:
    project = gl.projects.get(server.seed({".gitlab-ci.yml": ci} | files))
    return project, server.runner(project.id)


def states(project: Project) -> dict[str, str]:
    newest = project.pipelines.list(get_all=False)[0]
    return {job.name: job.status for job in newest.jobs.list(get_all=True)}


def newest_status(project: Project) -> str:
    return str(project.pipelines.list(get_all=False)[0].status)


STAGES = """
stages: [build, test, deploy]
build: {stage: build, script: [a]}
unit: {stage: test, script: [a]}
lint: {stage: test, script: [a], allow_failure: true}
ship: {stage: deploy, script: [a]}
rescue: {stage: deploy, script: [a], when: on_failure}
always: {stage: deploy, script: [a], when: always}
"""


def test_stages_wait_for_each_other(server: Server, gl: gitlab.Gitlab) -> None:
    project, runner = make(server, gl, STAGES)
    assert states(project) == {
        "build": "pending", "unit": "created", "lint": "created", "ship": "created", "rescue": "created",
        "always": "created",
    }  # fmt: skip
    runner.finish(runner.take())
    unit, lint = runner.take(), runner.take()
    runner.finish(unit)
    runner.finish(lint, "failed", failure_reason="script_failure", exit_code=1)
    assert states(project) == {
        "build": "success", "unit": "success", "lint": "failed", "ship": "pending", "rescue": "skipped",
        "always": "pending",
    }  # fmt: skip
    for _ in range(2):
        runner.finish(runner.take())
    assert newest_status(project) == "success"


def test_a_failure_skips_what_follows_and_a_retry_brings_it_back(server: Server, gl: gitlab.Gitlab) -> None:
    project, runner = make(server, gl, STAGES)
    job = runner.take()
    runner.finish(job, "failed", failure_reason="script_failure", exit_code=1)
    assert states(project)["unit"] == "skipped"
    assert states(project)["rescue"] == "pending"
    for _ in range(2):
        runner.finish(runner.take())
    assert newest_status(project) == "failed"
    again: Any = project.jobs.get(job["id"]).retry()
    assert again["id"] != job["id"]
    assert again["status"] == "pending"
    assert (states(project)["unit"], newest_status(project)) == ("created", "running")
    refused = server.api("POST", f"/projects/{project.id}/jobs/{job['id']}/retry")
    assert (refused.status_code, refused.json()) == (403, {"message": "403 Forbidden - Job is not retryable"})


def test_needs_start_before_the_stage_is_done(server: Server, gl: gitlab.Gitlab) -> None:
    ci = """
fast: {stage: build, script: [a]}
slow: {stage: build, script: [a]}
early: {stage: deploy, script: [a], needs: [fast]}
free: {stage: deploy, script: [a], needs: []}
"""
    project, runner = make(server, gl, ci)
    assert states(project) == {"fast": "pending", "slow": "pending", "early": "created", "free": "pending"}
    runner.finish(runner.take())
    assert states(project)["early"] == "pending"


@pytest.mark.parametrize(
    ("retry", "reason", "attempts"),
    [
        ("2", "script_failure", 3),
        ("{max: 2, when: [runner_system_failure, stuck_or_timeout_failure]}", "runner_system_failure", 3),
        ("{max: 2, when: runner_system_failure}", "script_failure", 1),
        ("0", "runner_system_failure", 1),
    ],
)
def test_retry_by_reason(server: Server, gl: gitlab.Gitlab, retry: str, reason: str, attempts: int) -> None:
    project, runner = make(server, gl, f"one: {{script: [a], retry: {retry}}}")
    for _ in range(attempts):
        runner.finish(runner.take(), "failed", failure_reason=reason)
    assert runner.request().status_code == 204
    newest = project.pipelines.list(get_all=False)[0]
    assert len(newest.jobs.list(include_retried=True, get_all=True)) == attempts
    assert [job.status for job in newest.jobs.list(get_all=True)] == ["failed"]
    assert newest.status == "failed"


def test_allowed_exit_codes(server: Server, gl: gitlab.Gitlab) -> None:
    project, runner = make(server, gl, "one: {script: [a], allow_failure: {exit_codes: [42]}}")
    runner.finish(runner.take(), "failed", failure_reason="script_failure", exit_code=42)
    assert newest_status(project) == "success"


def test_a_blocking_manual_job_is_played_with_variables(server: Server, gl: gitlab.Gitlab) -> None:
    ci = """
gate: {stage: build, script: [a], rules: [{when: manual}]}
next: {stage: test, script: [a]}
"""
    project, runner = make(server, gl, ci)
    assert states(project) == {"gate": "manual", "next": "created"}
    assert newest_status(project) == "manual"
    gate = next(job for job in project.jobs.list(get_all=True) if job.name == "gate")
    url = f"/projects/{project.id}/jobs/{gate.id}/play"
    played = server.api("POST", url, json={"job_variables_attributes": [{"key": "WHO", "value": "me"}]})
    assert (played.status_code, played.json()["status"]) == (200, "pending")
    assert server.api("POST", url).status_code == 400
    job = runner.take()
    assert {"key": "WHO", "value": "me", "public": True, "masked": False} in job["variables"]
    runner.finish(job)
    assert states(project)["next"] == "pending"


def test_an_optional_manual_job_does_not_hold_the_pipeline(server: Server, gl: gitlab.Gitlab) -> None:
    project, runner = make(server, gl, "one: {script: [a]}\nextra: {script: [a], when: manual}")
    runner.finish(runner.take())
    assert newest_status(project) == "success"


RULES = """
workflow:
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
    - if: $CI_PIPELINE_SOURCE == "api"
main: {script: [a], rules: [{if: '$CI_COMMIT_BRANCH == "main" && $MODE != "fast"'}]}
mr: {script: [a], rules: [{if: '$CI_MERGE_REQUEST_IID'}]}
docs: {script: [a], rules: [{if: '$CI_MERGE_REQUEST_IID', changes: ["docs/**/*"]}]}
fast: {script: [a], rules: [{if: '$MODE =~ /^fa/'}]}
"""


def test_rules_by_branch_source_and_variable(server: Server, gl: gitlab.Gitlab) -> None:
    project, _ = make(server, gl, RULES)
    assert set(states(project)) == {"main"}
    project.pipelines.create({"ref": "main", "variables": [{"key": "MODE", "value": "fast"}]})
    assert set(states(project)) == {"fast"}


def test_merge_request_pipelines(server: Server, gl: gitlab.Gitlab) -> None:
    project, runner = make(server, gl, RULES)
    project.branches.create({"branch": "topic", "ref": "main"})
    assert project.pipelines.list(ref="topic", get_all=True) == []
    project.files.create(
        {"file_path": "docs/a/b.md", "branch": "topic", "content": "1", "commit_message": "d"}
    )
    request = project.mergerequests.create({"source_branch": "topic", "target_branch": "main", "title": "T"})
    first = request.pipelines.list(get_all=True)[0]
    assert (first.source, first.ref) == ("merge_request_event", f"refs/merge-requests/{request.iid}/head")
    assert set(states(project)) == {"mr", "docs"}
    jobs = [runner.take() for _ in range(3)]
    values = {item["key"]: item["value"] for item in jobs[-1]["variables"]}
    assert (values["CI_MERGE_REQUEST_IID"], values["CI_COMMIT_REF_NAME"]) == (str(request.iid), "topic")
    assert "CI_COMMIT_BRANCH" not in values
    project.files.create({"file_path": "c", "branch": "topic", "content": "1", "commit_message": "c"})
    assert len(request.pipelines.list(get_all=True)) == 2
    assert gl.projects.get(project.id).mergerequests.get(request.iid).head_pipeline["id"] != first.id


def test_changes_compare_with_the_push_before(server: Server, gl: gitlab.Gitlab) -> None:
    ci = "code: {script: [a], rules: [{changes: ['src/*.py']}]}\nall: {script: [a]}"
    project, _ = make(server, gl, ci)
    assert set(states(project)) == {"code", "all"}
    project.files.create({"file_path": "README", "branch": "main", "content": "1", "commit_message": "r"})
    assert set(states(project)) == {"all"}
    project.files.create({"file_path": "src/a.py", "branch": "main", "content": "1", "commit_message": "s"})
    assert set(states(project)) == {"code", "all"}


def test_includes_extends_references_defaults_and_matrix(server: Server, gl: gitlab.Gitlab) -> None:
    ci = """
include: [{local: /ci/base.yml}]
default: {image: "python:3.11", tags: [gpu], retry: 1}
bench:
  extends: .gpu
  script: [!reference [.setup, script], run $MODEL]
  parallel: {matrix: [{MODEL: [a, b], SIZE: [s]}]}
  tags: ["gpu-$MODEL"]
plain: {script: [b], inherit: {default: false}}
"""
    base = ".gpu: {variables: {GPU: '1'}, timeout: 10m}\n.setup: {script: [pip install x]}\n"
    project, _ = make(server, gl, ci, **{"ci/base.yml": base})
    runner = server.runner(project.id, tag_list=["gpu-b"], run_untagged=False)
    assert set(states(project)) == {"bench: [a, s]", "bench: [b, s]", "plain"}
    job = runner.take()
    assert job["job_info"]["name"] == "bench: [b, s]"
    assert job["steps"][0]["script"] == ["pip install x", "run $MODEL"]
    assert (job["image"]["name"], job["runner_info"]["timeout"]) == ("python:3.11", 600)
    values = {item["key"]: item["value"] for item in job["variables"]}
    assert (values["MODEL"], values["GPU"], values["CI_NODE_TOTAL"]) == ("b", "1", "2")


def test_a_faulty_file_makes_a_failed_pipeline_with_all_faults(server: Server, gl: gitlab.Gitlab) -> None:
    ci = "one: {stage: nope, script: [a]}\ntwo: {script: [a], needs: [three]}\n"
    project, _ = make(server, gl, ci)
    found = project.pipelines.get(project.pipelines.list(get_all=False)[0].id)
    assert found.status == "failed"
    assert "one job: chosen stage nope does not exist" in found.yaml_errors
    assert "two job: undefined need: three" in found.yaml_errors
    with pytest.raises(GitlabCreateError, match="chosen stage nope"):
        project.pipelines.create({"ref": "main"})


@pytest.mark.parametrize(
    ("ci", "words"),
    [
        (None, "Missing CI config file"),
        ("one: {script: [a], rules: [{when: never}]}", "prevented any jobs"),
        ("workflow: {rules: [{when: never}]}\none: {script: [a]}", "filtered out by workflow rules"),
    ],
)
def test_why_no_pipeline(server: Server, gl: gitlab.Gitlab, ci: str | None, words: str) -> None:
    project = gl.projects.get(server.seed({".gitlab-ci.yml": ci} if ci else None))
    with pytest.raises(GitlabCreateError, match=words):
        project.pipelines.create({"ref": "main"})
    with pytest.raises(GitlabCreateError, match="Reference not found"):
        project.pipelines.create({"ref": "nope"})


def test_lint_answers_without_making_anything(server: Server, gl: gitlab.Gitlab) -> None:
    project = gl.projects.get(server.seed())
    good = project.ci_lint.create({"content": "one: {script: [a]}"})
    assert (good.valid, good.errors) == (True, [])
    bad = project.ci_lint.create({"content": "one: {scrpt: [a]}\ntwo: {trigger: x}"})
    assert bad.valid is False
    assert bad.errors == [
        "jobs:one config contains unknown keys: scrpt",
        "jobs:one config should implement the script:, run:, or trigger: keyword",
        "jobs:two config: keyword `trigger` is not supported by this server",
    ]
    assert project.pipelines.list(get_all=True) == []


def test_cancel_and_retry_of_a_whole_pipeline(server: Server, gl: gitlab.Gitlab) -> None:
    project, runner = make(server, gl, STAGES)
    runner.take()
    newest = project.pipelines.list(get_all=False)[0]
    newest.cancel()
    assert newest_status(project) == "canceled"
    newest.retry()
    assert newest_status(project) in {"pending", "running"}


def test_pages_for_people(server: Server, gl: gitlab.Gitlab) -> None:
    project, runner = make(server, gl, STAGES)
    job = runner.take()
    runner.trace(job, "<b>log</b>")
    pipeline = project.pipelines.list(get_all=False)[0]
    pages = {
        "/": project.path_with_namespace,
        f"/{project.path_with_namespace}": "main",
        f"/{project.path_with_namespace}/-/pipelines/{pipeline.id}": "running",
        f"/{project.path_with_namespace}/-/jobs/{job['id']}": "&lt;b&gt;log&lt;/b&gt;",
    }
    for path, words in pages.items():
        response = httpx.get(server.url + path)
        assert (response.status_code, words in response.text) == (200, True), path
        assert job["token"] not in response.text
    assert httpx.get(f"{server.url}/{project.path_with_namespace}/-/jobs/999999").status_code == 404
