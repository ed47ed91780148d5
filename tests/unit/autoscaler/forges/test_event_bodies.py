"""Bodies of both forges' hooks: what is read, what is named when it is wrong."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shadow_autoscaler.adapters import github_events, gitlab_events
from shadow_autoscaler.adapters.event_errors import MalformedEventError
from shadow_autoscaler.core.events import JobSeen, RunCompleted
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus

NOON = 1_796_040_000.0
GITHUB: dict[str, Any] = {
    "action": "queued",
    "workflow_job": {
        "id": 5001,
        "run_id": 900,
        "run_attempt": 2,
        "status": "queued",
        "conclusion": None,
        "name": "train",
        "labels": ["self-hosted", "gpu"],
        "runner_id": None,
        "runner_name": None,
        "head_branch": "main",
        "created_at": "2026-11-30T12:00:00Z",
        "started_at": "2026-11-30T12:00:05Z",
        "completed_at": None,
        "html_url": "https://github.com/acme/jobs/actions/runs/900/job/5001",
    },
    "repository": {"full_name": "acme/jobs"},
    "installation": {"id": 71},
}
GITLAB: dict[str, Any] = {
    "object_kind": "build",
    "build_id": 5001,
    "build_name": "train",
    "build_status": "running",
    "build_created_at": "2026-11-30 11:00:00 UTC",
    "build_started_at": "2026-11-30T12:00:00Z",
    "build_finished_at": None,
    "build_queued_duration": 30.5,
    "build_failure_reason": "unknown_failure",
    "pipeline_id": 900,
    "ref": "main",
    "runner": {"id": 3, "description": "gpu"},
    "project": {"path_with_namespace": "acme/team/jobs"},
}


def github(**change: Any) -> JobFacts:
    payload = {**GITHUB, "workflow_job": GITHUB["workflow_job"] | change}
    (event,) = github_events.events("workflow_job", json.dumps(payload).encode())
    assert isinstance(event, JobSeen)
    return event.facts


def gitlab(**change: Any) -> JobFacts:
    (event,) = gitlab_events.events("Job Hook", json.dumps(GITLAB | change).encode())
    assert isinstance(event, JobSeen)
    return event.facts


def fault(translation: Any, name: str, body: bytes) -> str:
    with pytest.raises(MalformedEventError) as caught:
        translation(name, body)
    return str(caught.value)


def test_a_job_of_github() -> None:
    facts = github()
    assert facts.key == JobKey(ForgeKind.GITHUB, "acme/jobs", 5001, 2)
    assert (facts.status, facts.run_id, facts.queued_at) == (JobStatus.QUEUED, 900, NOON)
    assert (facts.labels, facts.ref, facts.installation_id) == (("self-hosted", "gpu"), "main", 71)
    assert (facts.started_at, facts.known_origin, facts.partial) == (None, False, False)
    running = github(status="in_progress", runner_id=7, runner_name="gpu-p1-1-1")
    assert (running.started_at, running.runner_id, running.runner_name) == (NOON + 5, 7, "gpu-p1-1-1")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("requested", JobStatus.WAITING),
        ("waiting", JobStatus.WAITING),
        ("pending", JobStatus.WAITING),
        ("queued", JobStatus.QUEUED),
        ("in_progress", JobStatus.RUNNING),
        ("completed", JobStatus.DONE),
        ("a later word", JobStatus.QUEUED),
    ],
)
def test_every_status_of_github(status: str, expected: JobStatus) -> None:
    assert github(status=status).status is expected


@pytest.mark.parametrize("name", ["ping", "push", "check_run", "workflow_dispatch", "installation"])
def test_other_events_of_github_mean_nothing(name: str) -> None:
    assert github_events.events(name, b'{"zen": "x"}') == ()


@pytest.mark.parametrize("action", ["requested", "in_progress"])
def test_only_the_end_of_a_run_matters(action: str) -> None:
    assert github_events.events("workflow_run", json.dumps({"action": action}).encode()) == ()


def test_a_later_action_of_github_means_nothing() -> None:
    assert github_events.events("workflow_job", b'{"action": "paused"}') == ()


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b"", ["body"]),
        (b"[]", ["body"]),
        (b"\xef\xbb\xbf{}", ["body"]),
        (b'{"action": "\xff"}', ["body"]),
        (b'{"action": 5}', ["action"]),
        (b'{"action": "queued"}', ["workflow_job", "repository"]),
        (
            json.dumps(
                {
                    "action": "queued",
                    "workflow_job": {"id": -1, "labels": "gpu"},
                    "repository": {"full_name": "a:b"},
                }
            ).encode(),
            ["workflow_job.id", "workflow_job.labels", "workflow_job.name", "repository.full_name"],
        ),
    ],
)
def test_every_wrong_field_of_github_is_named(body: bytes, names: list[str]) -> None:
    text = fault(github_events.events, "workflow_job", body)
    assert all(f"{name}: " in text for name in names)


def test_a_number_that_no_store_can_hold_is_wrong() -> None:
    change = {**GITHUB, "workflow_job": GITHUB["workflow_job"] | {"id": 2**63}}
    assert "workflow_job.id: " in fault(github_events.events, "workflow_job", json.dumps(change).encode())


def test_a_job_of_gitlab_in_both_forms_of_time() -> None:
    facts = gitlab()
    assert facts.key == JobKey(ForgeKind.GITLAB, "acme/team/jobs", 5001, 1)
    assert (facts.status, facts.run_id, facts.ref) == (JobStatus.RUNNING, 900, "main")
    assert (facts.queued_at, facts.started_at) == (NOON - 30.5, NOON)
    assert (facts.labels, facts.runner_id, facts.runner_name) == ((), 3, "")
    assert (facts.partial, facts.known_origin, facts.failure_reason) == (True, False, "")
    assert gitlab(build_started_at=None).queued_at == NOON - 3600
    assert gitlab(build_status="failed").failure_reason == "unknown_failure"


@pytest.mark.parametrize(
    ("status", "expected", "conclusion"),
    [
        ("created", JobStatus.WAITING, ""),
        ("waiting_for_resource", JobStatus.WAITING, ""),
        ("waiting_for_callback", JobStatus.WAITING, ""),
        ("preparing", JobStatus.WAITING, ""),
        ("manual", JobStatus.WAITING, ""),
        ("scheduled", JobStatus.WAITING, ""),
        ("pending", JobStatus.QUEUED, ""),
        ("running", JobStatus.RUNNING, ""),
        ("canceling", JobStatus.RUNNING, ""),
        ("success", JobStatus.DONE, "success"),
        ("failed", JobStatus.DONE, "failed"),
        ("canceled", JobStatus.DONE, "canceled"),
        ("skipped", JobStatus.DONE, "skipped"),
    ],
)
def test_every_status_of_gitlab(status: str, expected: JobStatus, conclusion: str) -> None:
    facts = gitlab(build_status=status)
    assert (facts.status, facts.conclusion) == (expected, conclusion)


@pytest.mark.parametrize(("status", "ended"), [("running", False), ("pending", False), ("failed", True)])
def test_a_pipeline_tells_of_its_jobs_and_of_its_end(status: str, ended: bool) -> None:
    builds = [{"id": 1, "name": "a", "status": "created"}, {"id": 2, "name": "b", "status": "pending"}]
    body = {
        "object_kind": "pipeline",
        "object_attributes": {"id": 900, "status": status, "ref": "main"},
        "project": {"path_with_namespace": "acme/jobs"},
        "builds": builds,
    }
    found = gitlab_events.events("Pipeline Hook", json.dumps(body).encode())
    assert [event.facts.key.job_id for event in found if isinstance(event, JobSeen)] == [2]
    runs = [event.run_id for event in found if isinstance(event, RunCompleted)]
    assert runs == ([900] if ended else [])


@pytest.mark.parametrize("name", ["Push Hook", "Note Hook", "Merge Request Hook", "Deployment Hook", ""])
def test_other_hooks_of_gitlab_mean_nothing(name: str) -> None:
    assert gitlab_events.events(name, json.dumps(GITLAB).encode()) == ()


def test_a_system_hook_is_read_by_its_kind() -> None:
    assert gitlab_events.events("System Hook", b'{"object_kind": "push"}') == ()
    assert len(gitlab_events.events("System Hook", json.dumps(GITLAB).encode())) == 1


@pytest.mark.parametrize("field", ["build_id", "build_name", "build_status", "pipeline_id", "project"])
def test_every_missing_field_of_gitlab_is_named(field: str) -> None:
    body = {name: value for name, value in GITLAB.items() if name != field}
    assert f"{field}: Field required" in fault(gitlab_events.events, "Job Hook", json.dumps(body).encode())


JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.just({}),
)


@settings(max_examples=200, deadline=None)
@given(field=st.sampled_from(sorted(GITLAB)), value=JUNK)
def test_a_junk_value_makes_an_event_or_names_the_field(field: str, value: object) -> None:
    body = json.dumps(GITLAB | {field: value}).encode()
    try:
        found = gitlab_events.events("Job Hook", body)
    except MalformedEventError as error:
        text = str(error)
    else:
        assert all(isinstance(event, JobSeen) for event in found)
        return
    assert field in text


@pytest.mark.parametrize("waited", ["NaN", "Infinity", "-Infinity", "1e300", "-5"])
def test_a_duration_that_is_none_does_not_become_a_time(waited: str) -> None:
    body = json.dumps({**GITLAB, "build_queued_duration": 0}).replace(
        '"build_queued_duration": 0', f'"build_queued_duration": {waited}'
    )
    (event,) = gitlab_events.events("Job Hook", body.encode())
    assert isinstance(event, JobSeen)
    assert event.facts.queued_at == NOON - 3600.0
