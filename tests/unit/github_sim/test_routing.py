"""Which runner may take which job, and re-run rules, without a server."""

from typing import Any

import pytest

from localcloud.github import accounts, groups, rerun, runners, runs, runs_store, scheduler
from localcloud.github.errors import ApiError
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

FILE = "on: push\njobs:\n"


def repository(sim: Simulator, name: str = "inference") -> Doc:
    found = accounts.repository(sim, "acme", name)
    assert found is not None
    return found


def start(sim: Simulator, jobs: str, repo: str = "inference") -> Doc:
    trigger = {"event": "push", "branch": "main", "sha": "0" * 40, "actor_id": 9_000_001}
    return runs.start(sim, repository(sim, repo), ".github/workflows/ci.yml", FILE + jobs, trigger)


def job(runs_on: str, key: str = "test", more: str = "") -> str:
    return f"  {key}: {{runs-on: {runs_on}, steps: [{{run: ls}}]{more}}}\n"


def runner(sim: Simulator, *labels: str, group: int = 1, scope: Doc | None = None) -> Doc:
    org = accounts.account(sim, "acme")
    assert org is not None
    made = runners.create(
        sim,
        scope or {"org_id": org["id"]},
        f"r{len(sim.store.find('runner'))}",
        list(labels),
        group,
        ephemeral=True,
    )
    made["last_seen"] = sim.clock.now()
    return made


def finish(sim: Simulator, run: Doc, **conclusions: str) -> None:
    for item in runs_store.unfinished(sim, run):
        runs.begin_job(sim, item)
        runs.complete_job(sim, item, conclusions[item["job_key"]])


@pytest.mark.parametrize(
    ("runs_on", "labels", "taken"),
    [
        ("gpu", ["self-hosted", "gpu"], True),
        ("[Self-Hosted, GPU]", ["self-hosted", "gpu"], True),
        ("[self-hosted, gpu, big]", ["self-hosted", "gpu"], False),
        ("{group: Default}", ["x"], True),
        ("{group: default, labels: [x]}", ["X"], True),
        ("{group: other}", ["x"], False),
    ],
)
def test_a_runner_needs_all_labels_and_the_group(
    sim: Simulator, runs_on: str, labels: list[str], taken: bool
) -> None:
    start(sim, job(runs_on))
    assert (scheduler.job_for(sim, runner(sim, *labels)) is not None) is taken


def test_the_oldest_fitting_job_is_taken_once(sim: Simulator) -> None:
    first, second = start(sim, job("gpu")), start(sim, job("gpu"))
    one, other = runner(sim, "gpu"), runner(sim, "gpu")
    taken = scheduler.job_for(sim, one)
    assert taken is not None
    assert taken["run_id"] == first["id"]
    assert scheduler.job_for(sim, one) is taken
    following = scheduler.job_for(sim, other)
    assert following is not None
    assert following["run_id"] == second["id"]


def test_public_repositories_need_a_group_that_allows_them(sim: Simulator) -> None:
    start(sim, job("gpu"), "website")
    made = runner(sim, "gpu")
    assert scheduler.job_for(sim, made) is None
    sim.store.find("runner_group", id=1, org_id=made["org_id"])[0]["allows_public_repositories"] = True
    assert scheduler.job_for(sim, made) is not None


@pytest.mark.parametrize(
    ("change", "serves"),
    [
        ({}, True),
        ({"visibility": "selected"}, False),
        ({"visibility": "selected", "selected_repository_ids": [700_000_001]}, True),
        ({"visibility": "private"}, True),
        ({"restricted_to_workflows": True}, False),
        ({"restricted_to_workflows": True, "selected_workflows": ["acme/inference/w@refs/heads/main"]}, True),
    ],
)
def test_a_group_is_open_to_what_it_says(sim: Simulator, change: Doc, serves: bool) -> None:
    org = accounts.account(sim, "acme")
    assert org is not None
    group = {**groups.get(sim, org, 1), **change}
    workflow = "acme/inference/w@refs/heads/main"
    assert groups.serves(group, repository(sim), workflow) is serves


def test_a_repository_runner_serves_its_repository_only(sim: Simulator) -> None:
    start(sim, job("gpu"), "training")
    made = runner(sim, "gpu", scope={"repo_id": repository(sim)["id"]})
    assert scheduler.job_for(sim, made) is None
    start(sim, job("gpu"))
    assert scheduler.job_for(sim, made) is not None


def test_an_assigned_job_that_is_not_started_is_given_to_another_runner(sim: Simulator) -> None:
    start(sim, job("gpu"))
    lazy, quick = runner(sim, "gpu"), runner(sim, "gpu")
    scheduler.job_for(sim, lazy)
    scheduler.advance(sim, 61)
    taken = scheduler.job_for(sim, quick)
    assert taken is not None
    assert (taken["runner_name"], lazy["job_id"]) == (quick["name"], None)


def test_max_parallel_holds_the_rest_back(sim: Simulator) -> None:
    start(sim, job("gpu", more=", strategy: {max-parallel: 1, matrix: {a: [1, 2]}}"))
    assert scheduler.job_for(sim, runner(sim, "gpu")) is not None
    assert scheduler.job_for(sim, runner(sim, "gpu")) is None


def test_a_failing_matrix_job_cancels_its_waiting_siblings(sim: Simulator) -> None:
    run = start(sim, job("gpu", more=", strategy: {matrix: {a: [1, 2]}}"))
    first = runs_store.jobs_of(sim, run)[0]
    runs.begin_job(sim, first)
    runs.complete_job(sim, first, "failure")
    assert [item["conclusion"] for item in runs_store.jobs_of(sim, run)] == ["failure", "cancelled"]
    assert (run["status"], run["conclusion"]) == ("completed", "failure")


CHAIN = job("gpu", "build") + job("gpu", "test", ", needs: build") + job("gpu", "lint")


def test_failed_jobs_are_repeated_with_their_dependents_only(sim: Simulator) -> None:
    run = start(sim, CHAIN)
    finish(sim, run, build="failure", lint="success")
    assert {item["job_key"]: item["conclusion"] for item in runs_store.latest_jobs(sim, run)} == {
        "build": "failure",
        "lint": "success",
        "test": "skipped",
    }
    rerun.rerun_failed(sim, run, 9_000_001)
    assert {item["job_key"] for item in runs_store.unfinished(sim, run)} == {"build"}
    finish(sim, run, build="success")
    assert {item["job_key"] for item in runs_store.unfinished(sim, run)} == {"test"}
    finish(sim, run, test="success")
    assert (run["attempt"], run["conclusion"]) == (2, "success")
    attempts = {item["job_key"]: item["attempt"] for item in runs_store.latest_jobs(sim, run)}
    assert attempts == {"build": 2, "test": 2, "lint": 1}


def test_a_single_job_is_repeated_with_its_dependents(sim: Simulator) -> None:
    run = start(sim, CHAIN)
    finish(sim, run, build="success", lint="success")
    finish(sim, run, test="success")
    build = next(item for item in runs_store.latest_jobs(sim, run) if item["job_key"] == "build")
    rerun.rerun_job(sim, build, 9_000_001)
    finish(sim, run, build="success")
    finish(sim, run, test="success")
    assert len(runs_store.jobs_of(sim, run)) == 5
    with pytest.raises(ApiError, match="newer attempt"):
        rerun.rerun_job(sim, build, 9_000_001)


def test_nothing_is_repeated_while_it_runs_when_all_is_good_or_after_a_month(sim: Simulator) -> None:
    run = start(sim, job("gpu"))
    with pytest.raises(ApiError, match="already running"):
        rerun.rerun_failed(sim, run, 9_000_001)
    finish(sim, run, test="success")
    with pytest.raises(ApiError, match="no failed jobs"):
        rerun.rerun_failed(sim, run, 9_000_001)
    sim.clock.advance(31 * 24 * 3600)
    with pytest.raises(ApiError, match="over a month ago") as error:
        rerun.rerun_all(sim, run, 9_000_001)
    assert error.value.status == 403


def test_a_tolerated_failure_does_not_fail_the_run(sim: Simulator) -> None:
    run = start(sim, job("gpu", more=", continue-on-error: true"))
    finish(sim, run, test="failure")
    assert run["conclusion"] == "success"


def test_a_silent_runner_is_shown_offline_and_time_alone_does_not_make_it_so(sim: Simulator) -> None:
    made = runner(sim, "gpu")
    scheduler.advance(sim, 3600)
    assert runners.show(sim, made)["status"] == "online"
    sim.clock.advance(3600)
    shown: Any = runners.show(sim, made)
    assert shown["status"] == "offline"
