"""Moving jobs and pipelines forward: which jobs become pending, and a pipeline's status."""

import secrets
from collections.abc import Sequence

from localcloud.gitlab import hooks
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

COMPLETE = {"success", "failed", "canceled", "skipped"}
ACTIVE = {"pending", "running", "canceling", "waiting_for_resource", "preparing"}


def announce_job(instance: Instance, job_id: int) -> None:
    """Send the job's state to hooks."""
    hooks.job_event(instance, job_id)


def announce_pipeline(instance: Instance, pipeline_id: int) -> None:
    """Send the pipeline's state to hooks."""
    hooks.pipeline_event(instance, pipeline_id)


def set_status(instance: Instance, job: Row, status: str, **values: object) -> None:
    """Put a job into a state, with further columns, and tell the hooks."""
    now = instance.clock.stamp()
    if status == "pending":
        values = {
            "queued_at": now,
            "token": f"glcbt-{secrets.token_urlsafe(20)}",
            "contacted_at": None,
        } | values
    if status in COMPLETE and status != "skipped":
        values = {"finished_at": now} | values
    instance.store.update("jobs", job["id"], status=status, **values)
    if status == "pending":
        wake_runners(instance)
    announce_job(instance, job["id"])


def wake_runners(instance: Instance) -> None:
    """Make runners that poll with an old queue value look for jobs again."""
    instance.store.execute("UPDATE runners SET queue_value = ?", secrets.token_hex(16))
    instance.wake.set()


def refresh(instance: Instance, pipeline_id: int) -> None:
    """Start the jobs whose time has come, skip those that can't run any more, and update the pipeline."""
    with instance.store.transaction():
        while _step(instance, pipeline_id):
            pass
        _update_pipeline(instance, pipeline_id)


def latest(instance: Instance, pipeline_id: int) -> list[Row]:
    """The jobs of a pipeline that weren't retried."""
    return instance.store.query(
        "SELECT * FROM jobs WHERE pipeline_id = ? AND retried = 0 ORDER BY stage_index, id", pipeline_id
    )


def composite(jobs: Sequence[Row]) -> str:
    """The status that these jobs have together; failures that are allowed count as success."""
    states = {_effective(job) for job in jobs}
    if not states or states <= {"skipped"}:
        return "skipped"
    if states <= {"success", "skipped"}:
        return "success"
    if states <= {"created", "skipped"}:
        return "created"
    for status, others in (
        ("canceled", {"canceled", "success", "skipped"}),
        ("pending", {"pending", "created", "skipped"}),
    ):
        if states <= others:
            return status
    return _unfinished(states)


def _unfinished(states: set[str]) -> str:
    if states & {"canceling"}:
        return "canceling"
    if states & ACTIVE:
        return "running"
    if "manual" in states and not states & {"failed", "canceled"}:
        return "manual"
    if "created" in states:
        return "running"
    return "failed"


def _effective(job: Row) -> str:
    if job["status"] in {"failed", "canceled"} and job["allow_failure"]:
        return "success"
    if job["status"] == "manual" and job["allow_failure"]:
        return "skipped"
    return str(job["status"])


def _step(instance: Instance, pipeline_id: int) -> bool:
    jobs = latest(instance, pipeline_id)
    moved = False
    for job in jobs:
        if job["status"] == "created" and (status := _next_status(job, _before(job, jobs))):
            set_status(instance, job, status)
            moved = True
    return moved


def _before(job: Row, jobs: list[Row]) -> list[Row]:
    if job["needs"] is None:
        return [other for other in jobs if other["stage_index"] < job["stage_index"]]
    names = {need["name"] for need in job["needs"]}
    return [other for other in jobs if other["name"] in names]


def _next_status(job: Row, before: list[Row]) -> str | None:
    """What a created job turns into, or None while it has to wait for those before it."""
    states = [_effective(other) for other in before]
    if any(state not in COMPLETE for state in states):
        return None
    failed = any(state in {"failed", "canceled"} for state in states)
    if job["needs"] and any(_truly_skipped(other) for other in before):
        failed = True
    when = job["run_when"]
    if (
        when == "always"
        or (when == "on_failure" and "failed" in states)
        or (when == "on_success" and not failed)
    ):
        return "pending"
    return "manual" if when == "manual" and not failed else "skipped"


def _truly_skipped(job: Row) -> bool:
    return bool(job["status"] == "skipped" and job["run_when"] != "manual")


def _update_pipeline(instance: Instance, pipeline_id: int) -> None:
    store, now = instance.store, instance.clock.stamp()
    pipeline = store.get("pipelines", pipeline_id)
    jobs = latest(instance, pipeline_id)
    status = composite(jobs) if jobs else pipeline["status"]
    started = min((job["started_at"] for job in jobs if job["started_at"]), default=None)
    if status == pipeline["status"] and started == pipeline["started_at"]:
        return
    done = status in COMPLETE
    finished = (pipeline["finished_at"] if status == pipeline["status"] else now) if done else None
    store.update(
        "pipelines", pipeline_id, status=status, started_at=started, finished_at=finished, updated_at=now
    )
    if status != pipeline["status"]:
        announce_pipeline(instance, pipeline_id)
