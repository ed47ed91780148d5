"""What both simulators send, and GitHub's published examples, as events of the core."""

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from contract.autoscaler.forge.labs import LABELS, GitHubLab, GitLabLab, new_name, pool
from contract.github.harness import Delivery, Receiver
from contract.github.test_event_schemas import package
from hypothesis import given, settings
from hypothesis import strategies as st

from localcloud.gitlab.testing import receiving
from shadow_autoscaler.adapters import github_events, gitlab_events
from shadow_autoscaler.adapters.event_errors import MalformedEventError
from shadow_autoscaler.core.events import Event, JobSeen, RunCompleted, Source
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus

NAMES = ("workflow_job", "workflow_run", "ping")
STATUSES = {
    "waiting": JobStatus.WAITING,
    "queued": JobStatus.QUEUED,
    "in_progress": JobStatus.RUNNING,
    "completed": JobStatus.DONE,
}


def published() -> list[tuple[str, Any]]:
    """Every example payload that GitHub publishes, with its event's name."""
    index = json.loads((package("webhooks-examples") / "api.github.com" / "index.json").read_text())
    return [(entry["name"], example) for entry in index for example in entry["examples"]]


@pytest.fixture(scope="module")
def examples() -> list[tuple[str, Any]]:
    return published()


def translate(name: str, payload: object) -> tuple[Event, ...]:
    return github_events.events(name, json.dumps(payload).encode())


def test_only_jobs_and_the_ends_of_runs_become_events(examples: list[tuple[str, Any]]) -> None:
    kinds = {
        (name, payload.get("action"), type(event).__name__)
        for name, payload in examples
        for event in translate(name, payload)
    }
    assert kinds == {
        ("workflow_job", "queued", "JobSeen"),
        ("workflow_job", "waiting", "JobSeen"),
        ("workflow_job", "in_progress", "JobSeen"),
        ("workflow_job", "completed", "JobSeen"),
        ("workflow_run", "completed", "RunCompleted"),
    }


def test_published_jobs_are_told_as_they_are(examples: list[tuple[str, Any]]) -> None:
    for name, payload in examples:
        for event in translate(name, payload):
            if not isinstance(event, JobSeen):
                continue
            facts, job = event.facts, payload["workflow_job"]
            assert event.source is Source.WEBHOOK
            assert (facts.key.project, facts.key.job_id) == (payload["repository"]["full_name"], job["id"])
            assert (facts.labels, facts.name, facts.run_id) == (
                tuple(job["labels"]),
                job["name"],
                job["run_id"],
            )
            assert facts.status is STATUSES[job["status"]]
            assert facts.queued_at > 1_600_000_000
            assert not facts.known_origin
            assert bool(facts.runner_name) <= (facts.status >= JobStatus.RUNNING)


def test_a_job_that_an_approval_holds_back_waits_although_its_event_says_queued(
    examples: list[tuple[str, Any]],
) -> None:
    held = [
        event
        for name, payload in examples
        if payload.get("action") == "queued" and payload.get("workflow_job", {}).get("status") == "waiting"
        for event in translate(name, payload)
    ]
    assert [event.facts.status for event in held if isinstance(event, JobSeen)] == [JobStatus.WAITING]


def read(translation: Callable[[str, bytes], tuple[Event, ...]], name: str, body: bytes) -> tuple[Event, ...]:
    """Translate; a body that cannot be understood gives nothing, but says in which field and why."""
    try:
        return translation(name, body)
    except MalformedEventError as error:
        fault = str(error)
    assert re.match(r"[\w.]+: ", fault), fault
    return ()


JUNK: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just([]) | st.just({})
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_change_to_a_payload_makes_anything_but_events_or_a_named_fault(data: st.DataObject) -> None:
    chosen = [(name, payload) for name, payload in _interesting() if name in NAMES]
    name, payload = data.draw(st.sampled_from(chosen))
    changed = copy.deepcopy(payload)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = _place(changed, data.draw)
        if data.draw(st.booleans()):
            holder[key] = data.draw(JUNK)
        else:
            holder.pop(key, None)
    found = read(github_events.events, name, json.dumps(changed).encode())
    for event in found:
        assert isinstance(event, JobSeen | RunCompleted)
        identity = event.facts.key if isinstance(event, JobSeen) else event.key
        assert JobKey.parse(str(identity)) == identity


_FOUND: list[tuple[str, Any]] = []


def _interesting() -> list[tuple[str, Any]]:
    if not _FOUND:
        _FOUND.extend((name, payload) for name, payload in published() if name in NAMES)
    return _FOUND


def _place(
    payload: dict[str, Any], draw: Callable[[st.SearchStrategy[Any]], Any]
) -> tuple[dict[str, Any], str]:
    """A field of the payload, or of one of the objects that matter."""
    holders = [payload]
    names = ("workflow_job", "workflow_run", "repository", "installation")
    holders += [payload[name] for name in names if isinstance(payload.get(name), dict)]
    holder = draw(st.sampled_from([one for one in holders if one] or [{"x": 1}]))
    return holder, draw(st.sampled_from(sorted(holder)))


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=200), name=st.sampled_from([*NAMES, "push", "Job Hook", "Pipeline Hook", ""]))
def test_no_bytes_make_anything_but_nothing_or_a_named_fault(body: bytes, name: str) -> None:
    assert read(github_events.events, name, body) == ()
    assert read(gitlab_events.events, name, body) == ()


def test_the_simulated_github_tells_the_life_of_a_job(github: GitHubLab) -> None:
    receiver = Receiver()
    config = {"url": receiver.url, "content_type": "json"}
    body = {"name": "web", "events": ["workflow_job", "workflow_run"], "config": config}
    assert github.api.post(f"/orgs/{github.owner}/hooks", json=body).status_code == 201
    (key,) = github.queue()
    registration = github.forge.register(pool(ForgeKind.GITHUB), new_name(), key)
    github.start(registration)
    github.finish(key, good=False)
    seen: list[Event] = []
    for _ in range(7):
        delivery: Delivery = receiver.next()
        seen += github_events.events(delivery.headers["x-github-event"], delivery.body)
    receiver.close()
    jobs = sorted((one.facts for one in seen if isinstance(one, JobSeen)), key=lambda facts: facts.status)
    assert [facts.status for facts in jobs] == [JobStatus.QUEUED, JobStatus.RUNNING, JobStatus.DONE]
    assert {facts.key for facts in jobs} == {key}
    assert {facts.labels for facts in jobs} == {LABELS}
    assert [facts.runner_name for facts in jobs] == ["", registration.runner_name, registration.runner_name]
    assert jobs[-1].conclusion == "failure"
    (ended,) = [one for one in seen if isinstance(one, RunCompleted)]
    assert (ended.run_id, ended.attempt, ended.key.project) == (jobs[0].run_id, 1, github.project)


def test_the_simulated_gitlab_tells_the_life_of_a_job(gitlab: GitLabLab) -> None:
    with receiving() as receiver:
        hook = {"url": receiver.url, "job_events": True, "pipeline_events": True, "push_events": False}
        gitlab.simulator.api("POST", f"/projects/{gitlab.project_id}/hooks", json=hook)
        (key,) = gitlab.queue()
        assert gitlab.start(gitlab.forge.register(pool(ForgeKind.GITLAB), new_name(), None)) == key
        gitlab.finish(key, good=False)
        by_job: list[JobSeen] = []
        by_pipeline: list[Event] = []
        while not any(isinstance(event, RunCompleted) for event in by_pipeline):
            headers, body = receiver.raw()
            found = gitlab_events.events(headers["x-gitlab-event"], body)
            if headers["x-gitlab-event"] == "Job Hook":
                by_job += [event for event in found if isinstance(event, JobSeen)]
            else:
                by_pipeline += found
    assert [event.facts.status for event in by_job] == [
        JobStatus.WAITING,
        JobStatus.QUEUED,
        JobStatus.RUNNING,
        JobStatus.DONE,
    ]
    last = by_job[-1].facts
    assert {event.facts.key for event in by_job} == {key}
    assert all(event.facts.partial and not event.facts.known_origin for event in by_job)
    assert (last.conclusion, last.failure_reason) == ("failed", "runner_system_failure")
    assert last.finished_at is not None
    told = [event.facts for event in by_pipeline if isinstance(event, JobSeen)]
    assert {facts.key for facts in told} == {key}
    assert JobStatus.WAITING not in {facts.status for facts in told}
    (ended,) = [event for event in by_pipeline if isinstance(event, RunCompleted)]
    assert (ended.key.project, ended.run_id) == (gitlab.project, last.run_id)
