"""Webhooks: which hooks hear of an event, and when a failing hook is switched off."""

import json
import uuid
from fnmatch import fnmatchcase
from typing import Any

from localcloud.gitlab import hook_payloads
from localcloud.gitlab.clock import parse_time
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

EVENTS = (
    "push_events", "tag_push_events", "issues_events", "confidential_issues_events", "merge_requests_events",
    "note_events", "confidential_note_events", "job_events", "pipeline_events", "wiki_page_events",
    "deployment_events",
    "releases_events", "feature_flag_events", "milestone_events", "emoji_events",
    "resource_access_token_events",
    "vulnerability_events", "member_events", "subgroup_events", "project_events",
)  # fmt: skip
GRACE_FAILURES = 3
MAX_FAILURES = 39
FIRST_BACKOFF_S = 60.0
LONGEST_BACKOFF_S = 86_400.0


def job_event(instance: Instance, job_id: int) -> None:
    """A job changed its state."""
    row = instance.store.get("jobs", job_id)
    sql = "SELECT count(*) AS n FROM jobs WHERE pipeline_id = ? AND name = ? AND id < ?"

    def body() -> dict[str, Any]:
        retries = int(instance.store.query(sql, row["pipeline_id"], row["name"], row["id"])[0]["n"])
        return hook_payloads.job(instance, row, retries)

    _enqueue(instance, row["project_id"], "job_events", "Job Hook", body)


def pipeline_event(instance: Instance, pipeline_id: int) -> None:
    """A pipeline changed its state."""
    row = instance.store.get("pipelines", pipeline_id)
    _enqueue(
        instance,
        row["project_id"],
        "pipeline_events",
        "Pipeline Hook",
        lambda: hook_payloads.pipeline(instance, row),
    )


def push_event(instance: Instance, project: Row, user: Row, ref: str, before: str, after: str) -> None:
    """A branch or tag was made, moved or deleted."""
    tag = ref.startswith("refs/tags/")
    event, title = ("tag_push_events", "Tag Push Hook") if tag else ("push_events", "Push Hook")
    branch = "" if tag else ref.removeprefix("refs/heads/")
    _enqueue(
        instance, project["id"], event, title,
        lambda: hook_payloads.push(instance, project, user, ref, before, after), branch,
    )  # fmt: skip


def merge_request_event(
    instance: Instance, project: Row, user: Row, row: Row, action: str, old_sha: str | None
) -> None:
    """A merge request was opened, updated, closed, reopened or merged."""
    _enqueue(
        instance, project["id"], "merge_requests_events", "Merge Request Hook",
        lambda: hook_payloads.merge_request(instance, project, user, row, action, old_sha),
    )  # fmt: skip


def note_event(instance: Instance, project: Row, user: Row, row: Row, merge_request: Row) -> None:
    """A comment was made or changed."""
    _enqueue(
        instance, project["id"], "note_events", "Note Hook",
        lambda: hook_payloads.note(instance, project, user, row, merge_request),
    )  # fmt: skip


def _enqueue(
    instance: Instance, project_id: int, event: str, title: str, body: Any, branch: str = ""
) -> None:
    listening = [
        hook for hook in _heard_by(instance, project_id) if hook["events"].get(event) and _wants(hook, branch)
    ]
    if not listening:
        return
    payload = json.dumps(body(), separators=(",", ":"))
    for hook in listening:
        enqueue(instance, hook["id"], event, title, payload)


def enqueue(instance: Instance, hook_id: int, event: str, title: str, payload: str) -> None:
    """Put a body into a hook's queue, under a new idempotency key."""
    instance.store.insert(
        "deliveries", hook_id=hook_id, event=title, trigger_name=event, payload=payload,
        idempotency_key=str(uuid.uuid4()), created_at=instance.clock.stamp(),
    )  # fmt: skip
    instance.wake.set()


def _heard_by(instance: Instance, project_id: int) -> list[Row]:
    found = instance.store.find("hooks", owner_type="project", owner_id=project_id)
    group_id = instance.store.get("projects", project_id)["group_id"]
    while group_id is not None:
        found += instance.store.find("hooks", owner_type="group", owner_id=group_id)
        group_id = instance.store.get("groups", group_id)["parent_id"]
    return found


def _wants(hook: Row, branch: str) -> bool:
    wish = hook["push_events_branch_filter"]
    return not branch or not wish or fnmatchcase(branch, wish)


def alert_status(instance: Instance, hook: Row) -> str:
    """`executable`, `temporarily_disabled` or `disabled`."""
    if hook["recent_failures"] > MAX_FAILURES:
        return "disabled"
    until = hook["disabled_until"]
    paused = until and parse_time(until) >= instance.clock.now() and hook["recent_failures"] > GRACE_FAILURES
    return "temporarily_disabled" if paused else "executable"


def backoff_s(failures_before: int) -> float:
    """How long a hook rests after a failure, given how many came before; seconds."""
    return min(
        max(FIRST_BACKOFF_S * 2.0 ** (failures_before - GRACE_FAILURES), FIRST_BACKOFF_S), LONGEST_BACKOFF_S
    )


def record_outcome(instance: Instance, hook: Row, *, succeeded: bool) -> None:
    """Count a failure, or forget all of them after a success."""
    if succeeded:
        instance.store.update("hooks", hook["id"], recent_failures=0, disabled_until=None)
        return
    before = hook["recent_failures"]
    values: Row = {"recent_failures": min(before + 1, MAX_FAILURES + 1)}
    if before + 1 > GRACE_FAILURES:
        values["disabled_until"] = instance.clock.stamp(backoff_s(before))
    instance.store.update("hooks", hook["id"], **values)
