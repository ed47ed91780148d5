"""Jobs: list, show, trace, artifacts, retry, cancel, play, erase."""

import zipfile
from typing import Any

from starlette.responses import FileResponse, JSONResponse, Response

from localcloud.gitlab import hook_payloads, jobs, present
from localcloud.gitlab.access import DEVELOPER
from localcloud.gitlab.api.core import Api, Call, keyset, paged
from localcloud.gitlab.clock import seconds_between
from localcloud.gitlab.errors import not_found
from localcloud.gitlab.instance import Instance, project_url
from localcloud.gitlab.runners import brief, manager
from localcloud.gitlab.store import Row

api = Api()
SCOPES = {
    "created", "waiting_for_resource", "preparing", "pending", "running", "success", "failed", "canceled",
    "canceling",
    "skipped", "manual", "scheduled",
}  # fmt: skip


def shown(instance: Instance, row: Row) -> Row:
    """A job."""
    store = instance.store
    project, pipeline = store.get("projects", row["project_id"]), store.get("pipelines", row["pipeline_id"])
    commit = instance.repositories.commit(project["id"], pipeline["sha"])
    files = store.find("artifacts", job_id=row["id"])
    archive = next((item for item in files if item["file_type"] == "archive"), None)
    runner = store.one("runners", id=row["runner_id"]) if row["runner_id"] else None
    machine = store.one("managers", id=row["manager_id"]) if row["manager_id"] else None
    return {
        "id": row["id"], "status": row["status"], "stage": row["stage"], "name": row["name"],
        "ref": pipeline["ref"],
        "tag": pipeline["tag"], "coverage": row["coverage"], "allow_failure": row["allow_failure"],
        "created_at": row["created_at"], "started_at": row["started_at"], "finished_at": row["finished_at"],
        "queued_at": row["queued_at"], "erased_at": row["erased_at"],
        "duration": seconds_between(row["started_at"], row["finished_at"] or instance.clock.stamp()),
        "queued_duration": hook_payloads.queued_duration(instance, row), "archived": False,
        "source": pipeline["source"],
        "user": present.user_by_id(instance, row["user_id"]),
        "commit": present.commit(instance, project, commit) if commit else None,
        "pipeline": present.pipeline_brief(instance, project, pipeline),
        "web_url": f"{project_url(instance, project)}/-/jobs/{row['id']}",
        "project": {"ci_job_token_scope_enabled": False}, "tag_list": row["tag_list"],
        "artifacts": [_file(item) for item in files],
        "artifacts_expire_at": archive["expire_at"] if archive else None,
        "runner": brief(instance, runner) if runner else None,
        "runner_manager": manager(instance, machine) if machine else None,
    } | ({"failure_reason": row["failure_reason"]} if row["status"] == "failed" else {}) | (
        {"artifacts_file": {"filename": archive["filename"], "size": archive["size"]}} if archive else {}
    )  # fmt: skip


def _file(row: Row) -> Row:
    return {
        "file_type": row["file_type"],
        "size": row["size"],
        "filename": row["filename"],
        "file_format": row["file_format"],
    }


def find(call: Call, level: int = 0) -> Row:
    """The job in the path."""
    project = call.project(level)
    row = call.store.one("jobs", id=call.number("job_id"), project_id=project["id"])
    if row is None:
        raise not_found()
    return row


@api.get("/projects/{id}/jobs")
def index(call: Call) -> Any:
    """Jobs of a project, newest first, of the states in `scope`."""
    project, scope = call.project(), call.params.strings("scope")
    if scope and not set(scope) <= SCOPES:
        call.params.problems.append("scope does not have a valid value")
    call.params.check()
    rows = [
        row
        for row in call.store.find("jobs", project_id=project["id"])
        if not scope or row["status"] in scope
    ]
    cut = keyset if call.params.text("pagination") == "keyset" else paged
    return cut(call, rows[::-1], lambda row: shown(call.instance, row))


@api.get("/job")
def own(call: Call) -> Row:
    """The running job whose token makes the call."""
    row = call.store.one(
        "jobs", token=call.request.headers.get("job-token") or call.token() or "-", status="running"
    )
    if row is None:
        raise not_found()
    return shown(call.instance, row)


@api.get("/projects/{id}/jobs/{job_id}")
def show(call: Call) -> Row:
    """One job."""
    return shown(call.instance, find(call))


@api.get("/projects/{id}/jobs/{job_id}/trace")
def trace(call: Call) -> Response:
    """The job's log."""
    path = call.instance.traces / f"{find(call)['id']}.log"
    return Response(path.read_bytes() if path.exists() else b"", media_type="text/plain")


@api.get("/projects/{id}/jobs/{job_id}/artifacts")
def artifacts(call: Call) -> Response:
    """The job's artifacts archive."""
    return archive_of(call.instance, find(call))


@api.get("/projects/{id}/jobs/artifacts/{ref}/download")
def newest_artifacts(call: Call) -> Response:
    """The archive of the newest successful `job` on a branch or tag."""
    project, name = call.project(), call.params.need("job")
    call.params.check()
    sql = (
        "SELECT j.* FROM jobs j JOIN pipelines p ON p.id = j.pipeline_id "
        "WHERE j.project_id = ? AND j.name = ? AND p.ref = ?"
    )
    rows = call.store.query(
        f"{sql} AND j.status = 'success' ORDER BY j.id DESC LIMIT 1", project["id"], name, call.piece("ref")
    )
    if not rows:
        raise not_found()
    return archive_of(call.instance, rows[0])


@api.get("/projects/{id}/jobs/{job_id}/artifacts/{path:path}")
def artifact_file(call: Call) -> Response:
    """One file out of the archive."""
    row = call.store.one("artifacts", job_id=find(call)["id"], file_type="archive")
    if row is None:
        raise not_found()
    try:
        with zipfile.ZipFile(call.instance.uploads / str(row["id"])) as archive:
            return Response(archive.read(call.piece("path")), media_type="application/octet-stream")
    except (KeyError, zipfile.BadZipFile):
        raise not_found() from None


def archive_of(instance: Instance, job: Row) -> Response:
    """The archive file of a job as a response."""
    row = instance.store.one("artifacts", job_id=job["id"], file_type="archive")
    if row is None:
        raise not_found()
    return FileResponse(
        instance.uploads / str(row["id"]), filename=row["filename"], media_type="application/zip"
    )


@api.delete("/projects/{id}/jobs/{job_id}/artifacts")
def delete_artifacts(call: Call) -> None:
    """Delete the job's artifacts."""
    job = find(call, DEVELOPER)
    for row in call.store.find("artifacts", job_id=job["id"]):
        (call.instance.uploads / str(row["id"])).unlink(missing_ok=True)
    call.store.delete("artifacts", job_id=job["id"])


@api.post("/projects/{id}/jobs/{job_id}/retry")
def retry(call: Call) -> Row:
    """Run a finished job again as a new job."""
    return shown(call.instance, jobs.retry(call.instance, find(call, DEVELOPER), call.user))


@api.post("/projects/{id}/jobs/{job_id}/cancel")
def cancel(call: Call) -> Row:
    """Cancel a job."""
    force = bool(call.params.boolean("force"))
    return shown(call.instance, jobs.cancel(call.instance, find(call, DEVELOPER), force=force))


@api.post("/projects/{id}/jobs/{job_id}/play")
def play(call: Call) -> Response:
    """Start a manual job, with `job_variables_attributes`; answers 200."""
    given = call.params.objects("job_variables_attributes", "key")
    call.params.check()
    extra = [{"key": str(item["key"]), "value": str(item.get("value", ""))} for item in given]
    return JSONResponse(
        shown(call.instance, jobs.play(call.instance, find(call, DEVELOPER), call.user, extra))
    )


@api.post("/projects/{id}/jobs/{job_id}/erase")
def erase(call: Call) -> Row:
    """Delete the log and artifacts of a finished job."""
    row = find(call, DEVELOPER)
    jobs.erase(call.instance, row)
    return shown(call.instance, call.store.get("jobs", row["id"]))
