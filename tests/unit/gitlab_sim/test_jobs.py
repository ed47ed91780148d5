"""Statuses, matching, retries and limits on an instance without HTTP."""

from typing import Any

import pytest

from localcloud.gitlab import jobs, matching, pipelines, processing, projects, workers
from localcloud.gitlab.git import Change
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row


def run(instance: Instance, project: Row, root: Row, ci: str) -> Row:
    start = instance.repositories.resolve(project["id"], "main")
    change = [Change(".gitlab-ci.yml", ci.encode())]
    sha = instance.repositories.add_commit(
        project["id"], "main", change, "CI", ("Ada", "a@example.com"), start
    )
    wish = pipelines.Wish(ref="main", sha=sha, source="push", user_id=root["id"])
    return pipelines.create(instance, project, wish)


def states(*words: str) -> list[Row]:
    """Jobs from words such as `failed`, or `failed?` for one that may fail."""
    return [{"status": word.rstrip("?"), "allow_failure": word.endswith("?")} for word in words]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("success success", "success"),
        ("success skipped", "success"),
        ("skipped skipped", "skipped"),
        ("failed success", "failed"),
        ("failed? success", "success"),
        ("success running", "running"),
        ("failed running", "running"),
        ("pending created", "pending"),
        ("success pending", "running"),
        ("success created", "running"),
        ("created created", "created"),
        ("canceled success", "canceled"),
        ("canceled failed", "failed"),
        ("success manual", "manual"),
        ("success manual?", "success"),
        ("canceling success", "canceling"),
    ],
)
def test_the_status_of_a_pipeline(words: str, status: str) -> None:
    assert processing.composite(states(*words.split())) == status


def runner(instance: Instance, **fields: Any) -> Row:
    values = {
        "runner_type": "instance_type", "token": f"glrt-{len(instance.store.find('runners'))}",
        "created_at": instance.clock.stamp(),
    } | fields  # fmt: skip
    return instance.store.get("runners", instance.store.insert("runners", **values))


@pytest.mark.parametrize(
    ("fields", "tags", "fits"),
    [
        ({"tag_list": ["a", "b"]}, ["a"], True),
        ({"tag_list": ["a"]}, ["a", "b"], False),
        ({"tag_list": ["A"]}, ["a"], False),
        ({"tag_list": ["a"], "run_untagged": True}, [], True),
        ({"tag_list": ["a"], "run_untagged": False}, [], False),
    ],
)
def test_tags(instance: Instance, fields: dict[str, Any], tags: list[str], fits: bool) -> None:
    assert matching.tags_match(runner(instance, **fields), tags) is fits


def test_shared_runners_can_be_switched_off(instance: Instance, project: Row) -> None:
    shared = runner(instance)
    assert matching.serves_project(instance, shared, project)
    assert not matching.serves_project(
        instance, shared, project | {"settings": {"shared_runners_enabled": False}}
    )


def test_group_runners_serve_subgroups(instance: Instance, root: Row) -> None:
    now = instance.clock.stamp()
    top = instance.store.insert("groups", name="t", path="t", full_path="t", created_at=now)
    low = instance.store.insert("groups", name="l", path="l", full_path="t/l", parent_id=top, created_at=now)
    made = projects.add(instance, instance.store.get("groups", low), root, "p")
    assert matching.serves_project(instance, runner(instance, runner_type="group_type", group_id=top), made)
    other = instance.store.insert("groups", name="o", path="o", full_path="o", created_at=now)
    assert not matching.serves_project(
        instance, runner(instance, runner_type="group_type", group_id=other), made
    )


def test_the_oldest_fitting_job_comes_first(instance: Instance, project: Row, root: Row) -> None:
    run(instance, project, root, "a: {script: x, tags: [big]}\nb: {script: x}\nc: {script: x}")
    found = matching.next_job(instance, runner(instance))
    assert found is not None
    assert found["name"] == "b"


def test_retry_counts_and_reasons(instance: Instance, project: Row, root: Row) -> None:
    pipeline = run(instance, project, root, "a: {script: x, retry: {max: 1, when: runner_system_failure}}")
    first = instance.store.find("jobs", pipeline_id=pipeline["id"])[0]
    jobs.finish(instance, first, "failed", "runner_system_failure")
    second = processing.latest(instance, pipeline["id"])[0]
    assert (second["id"] != first["id"], second["status"], jobs.retries(instance, second)) == (
        True,
        "pending",
        1,
    )
    jobs.finish(instance, second, "failed", "runner_system_failure")
    assert [row["status"] for row in processing.latest(instance, pipeline["id"])] == ["failed"]
    assert instance.store.get("pipelines", pipeline["id"])["status"] == "failed"


def test_a_new_attempt_has_a_new_token(instance: Instance, project: Row, root: Row) -> None:
    pipeline = run(instance, project, root, "a: {script: x}")
    first = instance.store.find("jobs", pipeline_id=pipeline["id"])[0]
    jobs.finish(instance, first, "failed", "script_failure")
    again = jobs.retry(instance, instance.store.get("jobs", first["id"]), root)
    assert again["token"] != first["token"]


def test_what_is_dropped_when(instance: Instance, project: Row, root: Row) -> None:
    run(instance, project, root, "lonely: {script: x, tags: [nobody]}\nserved: {script: x}")
    runner(instance, tag_list=["other"])
    instance.clock.offset_s += workers.NO_RUNNER_LIMIT_S - 60
    assert workers.drop_stuck_jobs(instance) == []
    instance.clock.offset_s += 120
    dropped = [instance.store.get("jobs", job_id) for job_id in workers.drop_stuck_jobs(instance)]
    assert [(row["name"], row["failure_reason"]) for row in dropped] == [
        ("lonely", "stuck_or_timeout_failure")
    ]
    instance.clock.offset_s += workers.PENDING_LIMIT_S
    assert len(workers.drop_stuck_jobs(instance)) == 1


def test_a_transaction_is_all_or_nothing(instance: Instance) -> None:
    def half() -> None:
        with instance.store.transaction():
            instance.store.set_meta("x", 1)
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        half()
    assert instance.store.meta("x") is None
