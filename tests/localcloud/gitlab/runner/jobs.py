"""What a runner does with jobs: ask for one, report its state, append to its log, move artifacts."""

import shutil
import zlib
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, PlainTextResponse, Response

from localcloud.gitlab import jobs, matching, processing
from localcloud.gitlab.api.core import Api, Call
from localcloud.gitlab.api.jobs import archive_of
from localcloud.gitlab.ci.durations import seconds
from localcloud.gitlab.errors import ApiError, forbidden
from localcloud.gitlab.runner.contact import identify
from localcloud.gitlab.runner.payload import build
from localcloud.gitlab.shapes import tree
from localcloud.gitlab.store import Row

api = Api()
DEFAULT_TIMEOUT_S = 3600
DEFAULT_EXPIRY_S = 30 * 86_400
UPDATE_INTERVAL_S = "3"
MAX_TRACE = 100 * 1024 * 1024


@api.post("/jobs/request")
def request(call: Call) -> Response:
    """Give the runner its next job: 201 with the job, or 204 with the value to send as `last_update`."""
    call.params.need("token")
    call.params.check()
    runner, manager = identify(call)
    last = call.params.text("last_update")
    value = runner["queue_value"] or f"{runner['id']:032x}"
    if runner["queue_value"] is None:
        call.store.update("runners", runner["id"], queue_value=value)
    if runner["paused"] or (last and last == value):
        return Response(status_code=204, headers={"X-GitLab-Last-Update": value})
    job = matching.next_job(call.instance, runner)
    if job is None:
        return Response(status_code=204, headers={"X-GitLab-Last-Update": value})
    return JSONResponse(_take(call, runner, manager, job), 201)


def _take(call: Call, runner: Row, manager: Row | None, job: Row) -> Row:
    project = call.store.get("projects", job["project_id"])
    limit = job["spec"]["timeout_s"] or int(project["settings"].get("build_timeout") or DEFAULT_TIMEOUT_S)
    now = call.instance.clock.stamp()
    with call.store.transaction():
        processing.set_status(
            call.instance, job, "running", runner_id=runner["id"],
            manager_id=manager["id"] if manager else None,
            started_at=now, contacted_at=now, timeout_s=min(limit, runner["maximum_timeout"] or limit),
        )  # fmt: skip
        processing.refresh(call.instance, job["pipeline_id"])
    return build(call.instance, call.store.get("jobs", job["id"]))


def _job_token(call: Call) -> str:
    return call.params.text("token") or call.request.headers.get("job-token", "")


def authenticated(call: Call, *, running: bool = True) -> Row:
    """The job in the path, proved by its token; every refusal is 403, which makes a runner stop the job."""
    job = call.store.one("jobs", id=call.number("job_id"))
    if job is None or not job["token"] or _job_token(call) != job["token"]:
        raise forbidden()
    if job["erased_at"]:
        raise forbidden("Job has been erased!")
    if running and job["status"] not in {"running", "canceling"}:
        raise forbidden("Job is not processing", {"Job-Status": job["status"]})
    now = call.instance.clock.stamp()
    if running:
        call.store.update("jobs", job["id"], contacted_at=now)
    if job["runner_id"]:
        call.store.update("runners", job["runner_id"], contacted_at=now)
    return job


@api.put("/jobs/{job_id}")
def update(call: Call) -> Response:
    """Take the end of a job (`success`, `failed`), or a sign of life (`running`)."""
    job, state = authenticated(call), call.params.text("state")
    headers = {"Job-Status": job["status"], "X-GitLab-Trace-Update-Interval": UPDATE_INTERVAL_S}
    if state in {None, "", "running"}:
        return PlainTextResponse("200", 200, headers)
    if state not in {"success", "failed"}:
        raise ApiError(
            400,
            {
                "message": f"400 Bad request - Unknown job state {state!r}; "
                "expected success, failed or running"
            },
        )
    if not _trace_is_whole(call, job):
        return PlainTextResponse("202", 202, headers)
    exit_code = call.params.integer("exit_code")
    reason = call.params.text("failure_reason") or "unknown_failure"
    reason = reason if reason in jobs.FAILURE_REASONS else "unknown_failure"
    if job["status"] == "canceling" or (state == "failed" and reason == "job_canceled"):
        state = "canceled"
    jobs.finish(call.instance, job, state, reason, exit_code)
    final = call.store.get("jobs", job["id"])
    return PlainTextResponse("200", 200, headers | {"Job-Status": final["status"]})


def _trace_is_whole(call: Call, job: Row) -> bool:
    """Whether all of the log has arrived that the runner says it wrote."""
    output = tree(call.params.raw("output"))
    if "bytesize" not in output:
        return True
    path = call.instance.traces / f"{job['id']}.log"
    content = path.read_bytes() if path.exists() else b""
    wanted = str(output.get("checksum") or "").removeprefix("crc32:")
    same = not wanted or int(wanted, 16) == zlib.crc32(content)
    return len(content) >= int(output["bytesize"]) and same


@api.patch("/jobs/{job_id}/trace")
async def append_trace(call: Call) -> Response:
    """Append to the log where `Content-Range: start-end` continues it; 416 tells how much is there."""
    job = authenticated(call)
    header = call.request.headers.get("content-range")
    if not header:
        raise ApiError(400, {"error": "400 Missing header Content-Range"})
    body = await call.request.body()
    path = call.instance.traces / f"{job['id']}.log"
    size = path.stat().st_size if path.exists() else 0
    start = int(header.split("-")[0]) if header.split("-")[0].isdecimal() else -1
    if start != size or size + len(body) > MAX_TRACE:
        raise ApiError(416, {"error": "416 Range Not Satisfiable"}, {"Range": f"0-{size}"})
    with path.open("ab") as file:
        file.write(body)
    headers = {
        "Job-Status": job["status"], "Range": f"0-{size + len(body)}",
        "X-GitLab-Trace-Update-Interval": UPDATE_INTERVAL_S,
    }  # fmt: skip
    return PlainTextResponse("202", 202, headers)


@api.post("/jobs/{job_id}/artifacts/authorize")
def authorize(call: Call) -> Row:
    """Whether an upload may begin; answers 200 with the receiving path, as GitLab's front server does."""
    authenticated(call)
    return {"TempPath": str(call.instance.uploads)}


@api.post("/jobs/{job_id}/artifacts")
def upload(call: Call) -> Response:
    """Keep an artifact file; a second one of the same type is refused."""
    job = authenticated(call)
    file: Any = call.params.raw("file")
    if not isinstance(file, UploadFile):
        raise ApiError(400, {"error": "file is invalid"})
    kind = call.params.text("artifact_type", "archive")
    if call.store.one("artifacts", job_id=job["id"], file_type=kind):
        raise ApiError(400, {"message": "400 Bad request - another artifact of the same type already exists"})
    expiry = (
        seconds(call.params.text("expire_in"))
        if call.params.text("expire_in") not in {None, "", "never"}
        else DEFAULT_EXPIRY_S
    )
    with call.store.transaction():
        row_id = call.store.insert(
            "artifacts", job_id=job["id"], file_type=kind,
            file_format=call.params.text("artifact_format", "zip"),
            filename=file.filename or "artifacts.zip", size=file.size or 0,
            created_at=call.instance.clock.stamp(),
            expire_at=call.instance.clock.stamp(expiry or DEFAULT_EXPIRY_S),
        )  # fmt: skip
        with (call.instance.uploads / str(row_id)).open("wb") as target:
            shutil.copyfileobj(file.file, target)
    return PlainTextResponse("201", 201)


@api.get("/jobs/{job_id}/artifacts")
def download(call: Call) -> Response:
    """Give a job's archive to itself or to a running job of the same project."""
    job = call.store.one("jobs", id=call.number("job_id"))
    asking = call.store.one("jobs", token=_job_token(call) or "-")
    if job is None or asking is None or asking["project_id"] != job["project_id"]:
        raise forbidden()
    return archive_of(call.instance, job)
