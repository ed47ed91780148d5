"""What happens to one job: pick-up, end, retry, cancel, play."""

from localcloud.gitlab import processing
from localcloud.gitlab.errors import forbidden, refused
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

CANCELABLE = {"created", "pending", "running", "manual", "waiting_for_resource", "preparing"}
FAILURE_REASONS = {
    "unknown_failure", "script_failure", "api_failure", "stuck_or_timeout_failure", "runner_system_failure",
    "missing_dependency_failure", "runner_unsupported", "job_execution_timeout", "archived_failure",
    "unmet_prerequisites", "scheduler_failure", "data_integrity_failure", "user_blocked",
    "no_matching_runner",
    "trace_size_exceeded", "job_canceled", "image_pull_failure", "runner_configuration_error",
    "runner_interrupted",
    "runner_provisioning_failure", "job_timeout", "configuration_error",
}  # fmt: skip


def finish(
    instance: Instance, job: Row, status: str, reason: str | None = None, exit_code: int | None = None
) -> None:
    """End a job as `success`, `failed` or `canceled`, retry it where its CI file says so, and go on."""
    spec = job["spec"]
    values: Row = {"exit_code": exit_code, "failure_reason": reason if status == "failed" else None}
    if status == "failed" and exit_code is not None and exit_code in spec["allow_exit_codes"]:
        values["allow_failure"] = True
    with instance.store.transaction():
        processing.set_status(instance, job, status, **values)
        if status == "failed" and _retries_itself(instance, job, reason or "unknown_failure", exit_code):
            again(instance, instance.store.get("jobs", job["id"]), job["user_id"])
        else:
            processing.refresh(instance, job["pipeline_id"])


def retries(instance: Instance, job: Row) -> int:
    """How often the job with this name was retried in its pipeline before this one."""
    sql = "SELECT count(*) AS n FROM jobs WHERE pipeline_id = ? AND name = ? AND id < ?"
    return int(instance.store.query(sql, job["pipeline_id"], job["name"], job["id"])[0]["n"])


def _retries_itself(instance: Instance, job: Row, reason: str, exit_code: int | None) -> bool:
    spec = job["spec"]
    by_reason = {"always", reason} & set(spec["retry_when"])
    wanted = by_reason or (exit_code is not None and exit_code in spec["retry_exit_codes"])
    return bool(wanted) and retries(instance, job) < spec["retry_max"]


def retry(instance: Instance, job: Row, user: Row) -> Row:
    """Run a finished job again as a new job; refuses one that isn't finished or was retried already."""
    if (
        job["status"] not in processing.COMPLETE
        or job["status"] == "skipped"
        or job["retried"]
        or job["erased_at"]
    ):
        raise forbidden("Job is not retryable")
    with instance.store.transaction():
        return again(instance, job, user["id"])


def again(instance: Instance, job: Row, user_id: int | None) -> Row:
    """The new attempt of a job; jobs skipped because of the old one get their chance again."""
    store = instance.store
    columns = (
        "pipeline_id", "project_id", "name", "stage", "stage_index", "tag_list", "spec", "needs", "run_when",
        "variables",
    )  # fmt: skip
    values = {name: job[name] for name in columns} | {"allow_failure": job["spec"]["allow_failure"]}
    store.update("jobs", job["id"], retried=True)
    new_id = store.insert("jobs", user_id=user_id, created_at=instance.clock.stamp(), **values)
    processing.announce_job(instance, new_id)
    for other in processing.latest(instance, job["pipeline_id"]):
        if other["status"] == "skipped" and other["id"] != new_id:
            store.update("jobs", other["id"], status="created")
    processing.set_status(instance, store.get("jobs", new_id), "pending")
    processing.refresh(instance, job["pipeline_id"])
    return store.get("jobs", new_id)


def cancel(instance: Instance, job: Row, *, force: bool = False) -> Row:
    """Cancel a job; one that a runner can stop cleanly is `canceling` until the runner reports back."""
    if job["status"] not in CANCELABLE and not (force and job["status"] == "canceling"):
        if job["status"] in processing.COMPLETE:
            return job
        raise refused(403, "403 Forbidden - Job is not cancelable")
    manager = instance.store.one("managers", id=job["manager_id"]) if job["manager_id"] else None
    graceful = (
        job["status"] == "running" and manager and manager["features"].get("cancel_gracefully") and not force
    )
    with instance.store.transaction():
        processing.set_status(instance, job, "canceling" if graceful else "canceled")
        processing.refresh(instance, job["pipeline_id"])
    return instance.store.get("jobs", job["id"])


def play(instance: Instance, job: Row, user: Row, variables: list[dict[str, str]]) -> Row:
    """Start a manual job."""
    if job["status"] != "manual":
        raise refused(400, "400 Bad request - Unplayable Job")
    with instance.store.transaction():
        processing.set_status(instance, job, "pending", user_id=user["id"], variables=variables)
        for other in processing.latest(instance, job["pipeline_id"]):
            if other["status"] == "skipped" and other["stage_index"] > job["stage_index"]:
                instance.store.update("jobs", other["id"], status="created")
        processing.refresh(instance, job["pipeline_id"])
    return instance.store.get("jobs", job["id"])


def erase(instance: Instance, job: Row) -> None:
    """Delete a finished job's log and artifacts."""
    if job["status"] not in processing.COMPLETE or job["erased_at"]:
        raise forbidden("Job is not erasable!")
    (instance.traces / f"{job['id']}.log").unlink(missing_ok=True)
    for row in instance.store.find("artifacts", job_id=job["id"]):
        (instance.uploads / str(row["id"])).unlink(missing_ok=True)
    instance.store.delete("artifacts", job_id=job["id"])
    instance.store.update("jobs", job["id"], erased_at=instance.clock.stamp())
