"""Workflow runs: life cycle, routing, cancel, re-run, time."""

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from contract.github.harness import FindJobs, Finish, Forge, Receiver, StartRun, StartScript, workflow

from localcloud.processes import wait_until

REPO = "/repos/acme/inference"
LABELS = ["self-hosted", "GPU"]


@pytest.mark.usefixtures("hook")
def test_a_job_goes_from_queued_over_in_progress_to_completed_with_events_in_order(
    receiver: Receiver, start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    run = start_run(workflow())
    (queued,) = jobs_of(run)
    assert (queued["status"], queued["runner_name"], queued["labels"]) == (
        "queued",
        None,
        ["self-hosted", "gpu"],
    )
    jit_runner("r1", LABELS)
    assert finished(run)["conclusion"] == "success"
    (job,) = jobs_of(run)
    assert (job["status"], job["conclusion"], job["runner_name"]) == ("completed", "success", "r1")
    assert job["runner_group_name"] == "Default"
    assert [step["name"] for step in job["steps"]] == ["Set up job", "Run echo hello", "Complete job"]
    names = {receiver.next().name for _ in range(6)}
    kinds = ("workflow_job.queued", "workflow_job.in_progress", "workflow_job.completed")
    assert names == {*kinds, "workflow_run.requested", "workflow_run.in_progress", "workflow_run.completed"}


@pytest.mark.parametrize(
    ("runs_on", "labels"),
    [
        ("[self-hosted, a4500]", LABELS),
        ("{group: other, labels: [gpu]}", LABELS),
        ("[self-hosted, gpu, linux]", LABELS),
    ],
)
def test_a_job_waits_for_a_runner_with_all_its_labels_in_its_group(
    start_run: StartRun,
    jit_runner: StartScript,
    jobs_of: FindJobs,
    finished: Finish,
    runs_on: str,
    labels: list[str],
) -> None:
    waiting = start_run(workflow(runs_on=runs_on))
    fitting = start_run(workflow())
    jit_runner("r1", labels)
    finished(fitting)
    assert jobs_of(waiting)[0]["status"] == "queued"


def test_a_group_serves_only_the_repositories_that_it_is_open_to(
    api: httpx.Client, start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    training, inference = (api.get(f"/repos/acme/{name}").json()["id"] for name in ("training", "inference"))
    body = {"name": "gpu", "visibility": "selected", "selected_repository_ids": [training]}
    group = api.post("/orgs/acme/actions/runner-groups", json=body).json()["id"]
    run = start_run(workflow(runs_on="{group: gpu}"))
    jit_runner("r1", LABELS, group)
    online = f"/orgs/acme/actions/runner-groups/{group}/runners"
    assert wait_until(lambda: api.get(online).json()["runners"][0]["status"] == "online", 30)
    assert jobs_of(run)[0]["status"] == "queued"
    api.put(f"/orgs/acme/actions/runner-groups/{group}/repositories/{inference}")
    assert finished(run)["conclusion"] == "success"


def test_needs_outputs_conditions_and_a_matrix_work_together(
    start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    run = start_run(
        """
on: push
jobs:
  plan:
    runs-on: gpu
    outputs: {list: '${{ steps.make.outputs.list }}'}
    steps:
      - id: make
        run: echo 'list=["a","b"]' >> "$GITHUB_OUTPUT"
  work:
    needs: plan
    runs-on: [gpu, '${{ matrix.part }}']
    strategy: {matrix: {part: '${{ fromJSON(needs.plan.outputs.list) }}'}}
    steps: [{run: 'test "${{ matrix.part }}" = a'}]
  report:
    needs: work
    if: failure()
    runs-on: gpu
    steps: [{run: echo failed}]
  never:
    needs: work
    runs-on: gpu
    steps: [{run: echo ok}]
"""
    )
    for number in range(4):
        jit_runner(f"r{number}", ["gpu", "a", "b"])
    assert finished(run)["conclusion"] == "failure"
    conclusions = {job["name"]: job["conclusion"] for job in jobs_of(run)}
    assert conclusions["report"] == "success"
    assert conclusions["never"] == "skipped"
    assert set(conclusions) == {"plan", "work (a)", "work (b)", "report", "never"}
    assert conclusions["work (b)"] == "failure"


def test_a_queued_run_is_cancelled_at_once(
    api: httpx.Client, start_run: StartRun, jobs_of: FindJobs, finished: Finish
) -> None:
    run = start_run(workflow())
    assert api.post(f"{REPO}/actions/runs/{run['id']}/cancel").status_code == 202
    assert finished(run)["conclusion"] == "cancelled"
    assert jobs_of(run)[0]["conclusion"] == "cancelled"
    again = api.post(f"{REPO}/actions/runs/{run['id']}/cancel")
    assert (again.status_code, again.json()["message"]) == (
        409,
        "Cannot cancel a workflow run that is completed.",
    )


def test_a_rerun_of_failed_jobs_makes_new_ids_in_a_new_attempt_and_keeps_the_good_ones(
    api: httpx.Client, start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    more = "    strategy: {fail-fast: false, matrix: {code: [0, 1]}}\n"
    run = start_run(workflow("- run: exit ${{ matrix.code }}", more=more))
    path = f"{REPO}/actions/runs/{run['id']}/rerun-failed-jobs"
    running = api.post(path)
    assert (running.status_code, running.json()["message"]) == (403, "This workflow is already running")
    for number in range(2):
        jit_runner(f"r{number}", LABELS)
    finished(run)
    before = {job["name"]: job for job in jobs_of(run)}
    assert api.post(path).status_code == 201
    after = {job["name"]: job for job in jobs_of(run)}
    assert after["test (0)"] == before["test (0)"]
    assert after["test (1)"]["id"] > before["test (1)"]["id"]
    assert after["test (1)"]["run_attempt"] == 2
    assert (after["test (1)"]["status"], after["test (1)"]["runner_id"]) == ("queued", None)
    assert len(jobs_of(run, filter="all")) == 3
    assert api.get(f"{REPO}/actions/runs/{run['id']}").json()["run_attempt"] == 2


def test_one_job_is_rerun_only_after_the_run_has_ended(
    api: httpx.Client, start_run: StartRun, jobs_of: FindJobs
) -> None:
    run = start_run(workflow())
    (job,) = jobs_of(run)
    path = f"{REPO}/actions/jobs/{job['id']}/rerun"
    answer = api.post(path)
    assert answer.status_code == 403
    assert answer.json()["message"] == "The workflow run containing this job is already running"
    api.post(f"{REPO}/actions/runs/{run['id']}/cancel")
    assert api.post(path).status_code == 201
    assert jobs_of(run)[0]["id"] != job["id"]
    api.post(f"{REPO}/actions/runs/{run['id']}/cancel")
    assert api.post(path).status_code == 403


def test_a_run_cannot_be_repeated_after_thirty_days(
    forge: Forge, api: httpx.Client, start_run: StartRun
) -> None:
    run = start_run(workflow())
    api.post(f"{REPO}/actions/runs/{run['id']}/cancel")
    forge.sim("POST", "/clock", {"advance_s": 31 * 24 * 3600})
    answer = api.post(f"{REPO}/actions/runs/{run['id']}/rerun")
    assert answer.status_code == 403
    assert "over a month ago" in answer.json()["message"]


def test_a_job_that_nobody_takes_fails_after_a_day(
    forge: Forge, start_run: StartRun, jobs_of: FindJobs, finished: Finish
) -> None:
    run = start_run(workflow())
    forge.sim("POST", "/clock", {"advance_s": 24 * 3600 + 1})
    assert finished(run)["conclusion"] == "failure"
    assert jobs_of(run)[0]["runner_id"] is None


class BareRunner:
    """A runner that does only what it is told: to show what happens when one goes silent."""

    def __init__(self, forge: Forge, api: httpx.Client, name: str) -> None:
        token = api.post("/orgs/acme/actions/runners/registration-token").json()["token"]
        body = {"token": token, "name": name, "labels": ["self-hosted", "gpu"], "ephemeral": True}
        self.client = httpx.Client(base_url=f"{forge.url}/_runner", trust_env=False)
        made = self.client.post("/register", json=body).json()
        session = self.client.post("/sessions", json=made).json()["session"]
        self.client.headers["Authorization"] = f"Bearer {session}"

    def close(self) -> None:
        self.client.close()

    def message(self) -> Any:
        answer = self.client.get("/message", params={"wait_s": 0})
        return answer.json() if answer.content else None

    def acquire(self, job_id: int) -> httpx.Response:
        return self.client.post(f"/jobs/{job_id}/acquire")


@pytest.fixture
def bare_runner(forge: Forge, api: httpx.Client) -> Iterator[Callable[[str], BareRunner]]:
    made: list[BareRunner] = []

    def start(name: str) -> BareRunner:
        made.append(BareRunner(forge, api, name))
        return made[-1]

    yield start
    for runner in made:
        runner.close()


def test_a_job_that_its_runner_does_not_start_in_a_minute_goes_to_another_one(
    forge: Forge, bare_runner: Callable[[str], BareRunner], start_run: StartRun, jobs_of: FindJobs
) -> None:
    run = start_run(workflow())
    lazy, quick = bare_runner("lazy"), bare_runner("quick")
    job_id = lazy.message()["job_id"]
    assert quick.message() is None
    forge.sim("POST", "/clock", {"advance_s": 61})
    assert quick.message() == {"job_id": job_id}
    assert lazy.acquire(job_id).status_code == 404
    assert quick.acquire(job_id).status_code == 200
    assert jobs_of(run)[0]["runner_name"] == "quick"


def test_a_busy_runner_cannot_be_removed_and_one_that_falls_silent_fails_its_job(
    forge: Forge,
    api: httpx.Client,
    bare_runner: Callable[[str], BareRunner],
    start_run: StartRun,
    jobs_of: FindJobs,
    finished: Finish,
) -> None:
    forge.sim("PATCH", "/settings", {"runner_lost_after_s": 2, "runner_offline_after_s": 0})
    run = start_run(workflow())
    runner = bare_runner("r1")
    runner.acquire(runner.message()["job_id"])
    (known,) = api.get("/orgs/acme/actions/runners").json()["runners"]
    refused = api.delete(f"/orgs/acme/actions/runners/{known['id']}")
    assert known["busy"] is True
    assert refused.status_code == 422
    forge.sim("POST", "/clock", {"advance_s": 3})
    assert finished(run)["conclusion"] == "failure"
    (job,) = jobs_of(run)
    log = api.get(f"{REPO}/actions/jobs/{job['id']}/logs", follow_redirects=True).text
    assert "lost communication with the server" in log
    assert api.get("/orgs/acme/actions/runners").json()["total_count"] == 0


def test_a_runner_given_up_by_hand_fails_its_job_at_once(
    forge: Forge,
    bare_runner: Callable[[str], BareRunner],
    start_run: StartRun,
    jobs_of: FindJobs,
    finished: Finish,
) -> None:
    run = start_run(workflow())
    lost, other = bare_runner("lost"), bare_runner("other")
    lost.acquire(lost.message()["job_id"])
    forge.sim("POST", "/lost-runners", {"name": "other"})
    assert jobs_of(run)[0]["status"] == "in_progress"
    forge.sim("POST", "/lost-runners", {"name": "lost"})
    assert finished(run)["conclusion"] == "failure"
    assert other.message() is None


def test_a_job_over_its_time_is_cancelled(
    forge: Forge, bare_runner: Callable[[str], BareRunner], start_run: StartRun, finished: Finish
) -> None:
    run = start_run(workflow(more="    timeout-minutes: 5\n"))
    runner = bare_runner("r1")
    job_id = runner.message()["job_id"]
    runner.acquire(job_id)
    forge.sim("POST", "/clock", {"advance_s": 301})
    assert runner.client.post(f"/jobs/{job_id}/renew").json() == {"cancel": True}
    runner.client.post(f"/jobs/{job_id}/complete", json={"conclusion": "cancelled"})
    assert finished(run)["conclusion"] == "cancelled"


def test_a_protected_environment_makes_the_job_wait_for_an_approval(
    forge: Forge, api: httpx.Client, receiver: Receiver, hook: Any, start_run: StartRun, jobs_of: FindJobs
) -> None:
    forge.sim("POST", "/environments", {"repository": "acme/inference", "environments": ["prod"]})
    run = start_run(workflow(more="    environment: prod\n"))
    assert jobs_of(run)[0]["status"] == "waiting"
    receiver.next("workflow_job.waiting")
    path = f"{REPO}/actions/runs/{run['id']}/pending_deployments"
    assert api.get(path).json()[0]["environment"]["name"] == "prod"
    assert api.post(path, json={"environment_names": ["prod"]}).status_code == 200
    assert jobs_of(run)[0]["status"] == "queued"
    receiver.next("workflow_job.queued")


def test_logs_are_given_by_job_and_as_an_archive(
    api: httpx.Client, start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    run = start_run(workflow())
    (job,) = jobs_of(run)
    assert api.get(f"{REPO}/actions/jobs/{job['id']}/logs").status_code == 404
    jit_runner("r1", LABELS)
    finished(run)
    redirect = api.get(f"{REPO}/actions/jobs/{job['id']}/logs")
    assert redirect.status_code == 302
    text = httpx.get(redirect.headers["location"], trust_env=False).text
    assert any(line.endswith(" hello") for line in text.splitlines())
    packed = api.get(f"{REPO}/actions/runs/{run['id']}/logs", follow_redirects=True).content
    assert zipfile.ZipFile(io.BytesIO(packed)).namelist() == ["0_test.txt"]


def test_a_matrix_over_256_jobs_is_refused_and_one_of_256_is_not(
    start_run: StartRun, jobs_of: FindJobs
) -> None:
    axes = "    strategy: {{matrix: {{a: {0}, b: {1}}}}}\n"
    sixteen = str(list(range(16)))
    run = start_run(workflow(more=axes.format(sixteen, sixteen)))
    assert len(jobs_of(run, per_page="100", page="3")) == 56
    over = start_run(workflow(more=axes.format(sixteen, list(range(17)))))
    assert [job["conclusion"] for job in jobs_of(over)] == ["failure"]
