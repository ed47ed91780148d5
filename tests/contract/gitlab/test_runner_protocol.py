"""The runner's own protocol: taking jobs, log, end, artifacts, cancel, time limits, matching."""

import io
import zipfile
import zlib
from typing import Any

import gitlab
import httpx
import pytest
from gitlab.v4.objects import Project

from localcloud.gitlab.testing import Server

CI = """
test_inference:
  tags: [shadow-gpu]
  image: pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime
  before_script: [nvidia-smi]
  script: [python bench.py]
  after_script: [echo after]
  variables: {BATCH: "8"}
  artifacts: {paths: [out.txt], expire_in: 1 week}
  cache: {key: pip, paths: [.cache/]}
  timeout: 30m
"""


def ci_project(server: Server, gl: gitlab.Gitlab, text: str = CI, **files: str) -> Project:
    return gl.projects.get(server.seed({".gitlab-ci.yml": text} | files))


def test_the_job_has_everything_a_runner_needs(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    project.variables.create({"key": "API_KEY", "value": "very-secret", "masked": True})
    job = server.runner(project.id, tag_list=["shadow-gpu"]).take()
    assert job["image"]["name"] == "pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime"
    assert [step["script"] for step in job["steps"]] == [["nvidia-smi", "python bench.py"], ["echo after"]]
    assert job["runner_info"]["timeout"] == 1800
    assert job["artifacts"][0]["paths"] == ["out.txt"]
    assert job["cache"][0]["key"] == "pip"
    assert job["git_info"]["repo_url"].startswith(f"http://gitlab-ci-token:{job['token']}@")
    values = {item["key"]: item for item in job["variables"]}
    assert values["API_KEY"] == {"key": "API_KEY", "value": "very-secret", "public": False, "masked": True}
    assert values["BATCH"]["value"] == "8"
    assert values["CI_JOB_TOKEN"]["masked"] is True
    assert values["CI_PROJECT_PATH"]["value"] == project.path_with_namespace


def test_a_job_is_given_once(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    first, second = (server.runner(project.id, tag_list=["shadow-gpu"]) for _ in range(2))
    first.take()
    assert second.request().status_code == 204


def test_last_update_saves_the_search(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl, "a: {script: [a], tags: [x]}")
    runner = server.runner(project.id, tag_list=["y"], run_untagged=False)
    value = runner.request().headers["X-GitLab-Last-Update"]
    assert runner.request(last_update=value).headers["X-GitLab-Last-Update"] == value
    project.pipelines.create({"ref": "main"})
    assert runner.request(last_update=value).headers["X-GitLab-Last-Update"] != value


def test_job_tags_are_in_the_api_only_and_state_follows_the_runner(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    pending = project.jobs.list(scope=["pending"], get_all=True)[0]
    assert pending.tag_list == ["shadow-gpu"]
    assert pending.runner is None
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    job = runner.take()
    found = project.jobs.get(job["id"])
    assert (found.status, found.runner["id"], found.runner_manager["system_id"]) == (
        "running", runner.runner_id, runner.system_id,
    )  # fmt: skip
    assert runner.finish(job).status_code == 200
    assert project.jobs.get(job["id"]).status == "success"
    assert project.pipelines.list(get_all=True)[0].status == "success"
    jobs = server.api(
        "GET", f"/runners/{runner.runner_id}/jobs", params={"system_id": runner.system_id}
    ).json()
    assert [item["id"] for item in jobs] == [job["id"]]
    assert server.api("GET", f"/runners/{runner.runner_id}/jobs?system_id=s_other").json() == []


def test_the_log_is_appended_at_the_right_place_only(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    job = runner.take()
    first = runner.trace(job, "hello ")
    assert (first.status_code, first.headers["Range"], first.headers["Job-Status"]) == (202, "0-6", "running")
    assert first.headers["X-GitLab-Trace-Update-Interval"] == "3"
    gap = runner.trace(job, "lost", start=9)
    assert (gap.status_code, gap.headers["Range"]) == (416, "0-6")
    assert runner.trace(job, "world", start=6).status_code == 202
    assert project.jobs.get(job["id"]).trace() == b"hello world"
    url = f"{server.url}/api/v4/jobs/{job['id']}/trace"
    assert httpx.patch(url, content="x", headers={"JOB-TOKEN": job["token"]}).status_code == 400
    assert (
        httpx.patch(url, content="x", headers={"JOB-TOKEN": "no", "Content-Range": "11-11"}).status_code
        == 403
    )


def test_the_end_waits_for_the_whole_log(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    job = runner.take()
    output = {"bytesize": 5, "checksum": f"crc32:{zlib.crc32(b'hello'):08x}"}
    assert runner.finish(job, output=output).status_code == 202
    assert project.jobs.get(job["id"]).status == "running"
    runner.trace(job, "hello")
    assert runner.finish(job, output=output).status_code == 200


def test_a_finished_job_takes_no_more_updates(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    job = runner.take()
    runner.finish(job)
    again = runner.finish(job, "failed")
    assert (again.status_code, again.headers["Job-Status"]) == (403, "success")
    assert runner.trace(job, "late").status_code == 403


@pytest.mark.parametrize("reason", ["script_failure", "runner_system_failure", "stuck_or_timeout_failure"])
def test_failure_reasons_are_kept(server: Server, gl: gitlab.Gitlab, reason: str) -> None:
    project = ci_project(server, gl)
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    job = runner.take()
    runner.finish(job, "failed", failure_reason=reason, exit_code=2)
    assert project.jobs.get(job["id"]).failure_reason == reason


def test_cancel_tells_a_simple_runner_at_once(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    job = runner.take()
    project.jobs.get(job["id"]).cancel()
    told = runner.trace(job, "x")
    assert (told.status_code, told.headers["Job-Status"]) == (403, "canceled")


def test_cancel_lets_a_graceful_runner_report_back(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    response = runner.request(info={"features": {"cancel_gracefully": True}})
    job = response.json()
    project.jobs.get(job["id"]).cancel()
    told = runner.trace(job, "x")
    assert (told.status_code, told.headers["Job-Status"]) == (202, "canceling")
    runner.finish(job, "failed", failure_reason="job_canceled")
    assert project.jobs.get(job["id"]).status == "canceled"


def zipped(**files: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return target.getvalue()


def test_artifacts_go_to_people_and_to_the_next_job(server: Server, gl: gitlab.Gitlab) -> None:
    text = "a: {stage: build, script: [a], artifacts: {paths: [out]}}\nb: {stage: test, script: [b]}\n"
    project = ci_project(server, gl, text)
    runner = server.runner(project.id)
    job = runner.take()
    url = f"{server.url}/api/v4/jobs/{job['id']}/artifacts"
    content = zipped(out="result")
    upload: dict[str, Any] = {
        "headers": {"JOB-TOKEN": job["token"]}, "files": {"file": ("artifacts.zip", content)},
        "data": {"artifact_type": "archive", "artifact_format": "zip", "expire_in": "1 day"},
    }  # fmt: skip
    assert httpx.post(url, **upload).status_code == 201
    assert httpx.post(url, **upload).status_code == 400
    runner.finish(job)
    assert project.jobs.get(job["id"]).artifacts() == content
    assert project.jobs.get(job["id"]).artifact("out") == b"result"
    following = runner.take()
    dependency = following["dependencies"][0]
    assert (dependency["name"], dependency["artifacts_file"]["filename"]) == ("a", "artifacts.zip")
    assert httpx.get(url, headers={"JOB-TOKEN": dependency["token"]}).content == content
    assert httpx.get(url, headers={"JOB-TOKEN": "no"}).status_code == 403


def test_the_job_token_opens_the_api_while_the_job_runs(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl)
    runner = server.runner(project.id, tag_list=["shadow-gpu"])
    job = runner.take()
    headers = {"JOB-TOKEN": job["token"]}
    assert httpx.get(f"{server.url}/api/v4/job", headers=headers).json()["id"] == job["id"]
    runner.finish(job)
    assert httpx.get(f"{server.url}/api/v4/job", headers=headers).status_code in {401, 404}


@pytest.mark.parametrize(
    ("job", "runner", "taken"),
    [
        ("tags: [a]", {"tag_list": ["a", "b"]}, True),
        ("tags: [a, b]", {"tag_list": ["a"]}, False),
        ("tags: [A]", {"tag_list": ["a"]}, False),
        ("stage: test", {"tag_list": ["a"], "run_untagged": True}, True),
        ("stage: test", {"tag_list": ["a"], "run_untagged": False}, False),
        ("tags: [a]", {"tag_list": ["a"], "paused": True}, False),
        ("tags: [a]", {"tag_list": ["a"], "access_level": "ref_protected"}, True),
    ],
)
def test_which_runner_takes_which_job(
    server: Server, gl: gitlab.Gitlab, job: str, runner: dict[str, Any], taken: bool
) -> None:
    project = ci_project(server, gl, f"one:\n  script: [a]\n  {job}\n")
    assert server.runner(project.id, **runner).request().status_code == (201 if taken else 204)


def test_a_protected_runner_leaves_other_branches_alone(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl, "one: {script: [a]}")
    runner = server.runner(project.id, access_level="ref_protected")
    runner.finish(runner.take())
    project.branches.create({"branch": "topic", "ref": "main"})
    assert len(project.pipelines.list(ref="topic", get_all=True)) == 1
    assert runner.request().status_code == 204


def test_a_runner_of_another_project_or_group_gets_nothing(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl, "one: {script: [a]}")
    group_runner = server.runner(runner_type="group_type", group_id=project.namespace["id"])
    assert server.runner(server.seed()).request().status_code == 204
    project.group_runners_enabled = False
    project.save()
    assert group_runner.request().status_code == 204
    project.group_runners_enabled = True
    project.save()
    assert group_runner.request().status_code == 201


def test_the_runner_limits_the_time(server: Server, gl: gitlab.Gitlab) -> None:
    project = ci_project(server, gl, "one: {script: [a], timeout: 2h}")
    assert server.runner(project.id, maximum_timeout=600).take()["runner_info"]["timeout"] == 600


def test_a_silent_runner_loses_its_job_after_an_hour(own_server: Server) -> None:
    project_id = own_server.seed({".gitlab-ci.yml": "one: {script: [a]}"})
    job = own_server.runner(project_id).take()
    assert own_server.sim("POST", "/clock", advance_s=3500)["dropped_jobs"] == []
    assert own_server.sim("POST", "/clock", advance_s=200)["dropped_jobs"] == [job["id"]]
    found = own_server.api("GET", f"/projects/{project_id}/jobs/{job['id']}").json()
    assert (found["status"], found["failure_reason"]) == ("failed", "stuck_or_timeout_failure")


def test_a_job_that_no_runner_can_take_is_stuck(own_server: Server) -> None:
    project_id = own_server.seed({".gitlab-ci.yml": "one: {script: [a], tags: [nobody]}"})
    assert len(own_server.sim("POST", "/clock", advance_s=3700)["dropped_jobs"]) == 1
    other = own_server.seed({".gitlab-ci.yml": "one: {script: [a], tags: [busy]}"})
    own_server.runner(other, tag_list=["busy"])
    assert own_server.sim("POST", "/clock", advance_s=3700)["dropped_jobs"] == []
    assert len(own_server.sim("POST", "/clock", advance_s=24 * 3600)["dropped_jobs"]) == 1
    assert project_id != other
