"""Endpoints of workflows, workflow runs and jobs."""

import hashlib
import hmac
import io
import zipfile

from localcloud.github import fields, git, rerun, run_payloads, runs, runs_store, triggers
from localcloud.github.errors import ApiError, not_found
from localcloud.github.http import NO_CONTENT, Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import ANYBODY, reads, writes
from localcloud.github.store import Doc

api = Api()
_READ = reads("actions", "repo", public=True)
_WRITE = writes("actions", "repo")
_BASE = "/repos/{owner}/{repo}/actions"
_RUN = _BASE + "/runs/{run_id}"
_JOB = _BASE + "/jobs/{job_id}"
_CREATED = Reply({}, 201)


@api.route("GET", f"{_BASE}/workflows", _READ)
def list_workflows(call: Call) -> Reply:
    """All workflows."""
    found = call.sim.store.find("workflow", repo_id=call.repo["id"])
    return page(call, found, lambda doc: run_payloads.workflow(call.sim, doc), "workflows")


@api.route("GET", _BASE + "/workflows/{workflow}", _READ)
def show_workflow(call: Call) -> Reply:
    """One workflow, by id or file name."""
    return Reply(run_payloads.workflow(call.sim, _workflow(call)))


@api.route("POST", _BASE + "/workflows/{workflow}/dispatches", _WRITE)
def dispatch(call: Call) -> Reply:
    """Start a run by hand: `{ref, inputs}`."""
    workflow = _workflow(call)
    reference = fields.text(call.body, "ref")
    made = git.commit(call.sim, call.repo, reference.removeprefix("refs/heads/"))
    if made is None or workflow["path"] not in made["tree"]:
        raise ApiError(422, f"No ref found for: {reference}")
    triggers.dispatch(
        call.sim, call.repo, workflow["path"], reference, call.body.get("inputs", {}), _actor(call)
    )
    return NO_CONTENT


@api.route("GET", f"{_BASE}/runs", _READ)
def list_runs(call: Call) -> Reply:
    """Runs, newest first."""
    return _list_runs(call, call.sim.store.find("run", repo_id=call.repo["id"]))


@api.route("GET", _BASE + "/workflows/{workflow}/runs", _READ)
def list_workflow_runs(call: Call) -> Reply:
    """Runs of one workflow, newest first."""
    return _list_runs(call, call.sim.store.find("run", workflow_id=_workflow(call)["id"]))


def _list_runs(call: Call, found: list[Doc]) -> Reply:
    query = call.query
    equal = {"branch": "head_branch", "event": "event", "head_sha": "head_sha"}
    for name, field in equal.items():
        found = [run for run in found if name not in query or run[field] == query[name]]
    if wanted := query.get("status"):
        found = [run for run in found if wanted in (run["status"], run["conclusion"])]
    found.sort(key=lambda run: int(run["id"]), reverse=True)
    return page(call, found, lambda run: run_payloads.run(call.sim, run), "workflow_runs")


@api.route("GET", _RUN, _READ)
def show_run(call: Call) -> Reply:
    """One run."""
    return Reply(run_payloads.run(call.sim, _run(call)))


@api.route("DELETE", _RUN, _WRITE)
def delete_run(call: Call) -> Reply:
    """Remove a completed run and its jobs."""
    run = _run(call)
    if run["status"] != "completed":
        raise ApiError(403, "Cannot delete a workflow run that is in progress.")
    for job in runs_store.jobs_of(call.sim, run):
        call.sim.store.remove_text(f"log:{job['id']}")
        call.sim.store.remove("job", job)
    call.sim.store.remove("run", run)
    return NO_CONTENT


@api.route("GET", f"{_RUN}/jobs", _READ)
def list_jobs(call: Call) -> Reply:
    """Jobs of the current state of a run, or with `filter=all` of all its attempts."""
    run = _run(call)
    everything = call.query.get("filter") == "all"
    found = runs_store.jobs_of(call.sim, run) if everything else runs_store.latest_jobs(call.sim, run)
    return page(call, found, lambda job: run_payloads.job(call.sim, job), "jobs")


@api.route("GET", _RUN + "/attempts/{attempt}/jobs", _READ)
def list_attempt_jobs(call: Call) -> Reply:
    """Jobs of one attempt."""
    found = [
        job for job in runs_store.jobs_of(call.sim, _run(call)) if job["attempt"] == call.number("attempt")
    ]
    return page(call, found, lambda job: run_payloads.job(call.sim, job), "jobs")


@api.route("GET", _JOB, _READ)
def show_job(call: Call) -> Reply:
    """One job."""
    return Reply(run_payloads.job(call.sim, _job(call)))


@api.route("POST", f"{_RUN}/cancel", _WRITE)
def cancel_run(call: Call) -> Reply:
    """Cancel a run."""
    run = _run(call)
    if run["status"] == "completed":
        raise ApiError(409, "Cannot cancel a workflow run that is completed.")
    runs.cancel(call.sim, run)
    return Reply({}, 202)


@api.route("POST", f"{_RUN}/force-cancel", _WRITE)
def force_cancel_run(call: Call) -> Reply:
    """Cancel a run without waiting for its runners."""
    run = _run(call)
    cancel_run(call)
    for job in runs_store.unfinished(call.sim, run):
        runs.complete_job(call.sim, job, "cancelled")
    return Reply({}, 202)


@api.route("POST", f"{_RUN}/rerun", _WRITE)
def rerun_run(call: Call) -> Reply:
    """Run everything again."""
    rerun.rerun_all(call.sim, _run(call), _actor(call))
    return _CREATED


@api.route("POST", f"{_RUN}/rerun-failed-jobs", _WRITE)
def rerun_failed_jobs(call: Call) -> Reply:
    """Run what failed again."""
    rerun.rerun_failed(call.sim, _run(call), _actor(call))
    return _CREATED


@api.route("POST", f"{_JOB}/rerun", _WRITE)
def rerun_one_job(call: Call) -> Reply:
    """Run one job and its dependents again."""
    rerun.rerun_job(call.sim, _job(call), _actor(call))
    return _CREATED


@api.route("GET", f"{_RUN}/pending_deployments", _READ)
def list_pending(call: Call) -> Reply:
    """Environments that jobs wait for."""
    waiting = [job for job in runs_store.unfinished(call.sim, _run(call)) if job["status"] == "waiting"]
    names = sorted({job["environment"] for job in waiting})
    return Reply([{"environment": {"id": number, "name": name}} for number, name in enumerate(names, 1)])


@api.route("POST", f"{_RUN}/pending_deployments", _WRITE)
def review_pending(call: Call) -> Reply:
    """Approve environments by `environment_names`, or all that wait."""
    run = _run(call)
    waiting = {job["environment"] for job in runs_store.unfinished(call.sim, run) if job["environment"]}
    names = fields.texts(call.body, "environment_names", sorted(waiting))
    runs.approve(call.sim, run, names)
    return Reply([])


@api.route("GET", f"{_JOB}/logs", _READ)
def show_job_log(call: Call) -> Reply:
    """Redirect to the plain text of a completed job's log."""
    job = _job(call)
    if job["status"] != "completed":
        raise not_found()
    return _redirect(call, f"job-{job['id']}")


@api.route("GET", f"{_RUN}/logs", _READ)
def show_run_log(call: Call) -> Reply:
    """Redirect to an archive of all logs."""
    run = _run(call)
    if run["status"] != "completed":
        raise not_found()
    return _redirect(call, f"run-{run['id']}")


@api.route("GET", "/_logs/{what}/{signature}", ANYBODY)
def download_log(call: Call) -> Reply:
    """What the redirects lead to; the address itself is the credential."""
    kind, _, number = call.path["what"].partition("-")
    if not hmac.compare_digest(call.path["signature"], _signed(call, call.path["what"])):
        raise not_found()
    if kind == "job":
        return Reply(text=call.sim.store.read_text(f"log:{number}") or "")
    run = call.sim.store.get("run", number)
    return Reply(text=_archive(call, run or {"id": 0}), media_type="application/zip")


def _archive(call: Call, run: Doc) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, job in enumerate(runs_store.latest_jobs(call.sim, run)):
            text = call.sim.store.read_text(f"log:{job['id']}") or ""
            archive.writestr(f"{place}_{job['name'].replace('/', '_')}.txt", text)
    return buffer.getvalue()


def _redirect(call: Call, what: str) -> Reply:
    return Reply(
        None, 302, {"Location": f"{call.sim.public_url}/_logs/{what}/{_signed(call, what)}"}, text=""
    )


def _signed(call: Call, what: str) -> str:
    return hmac.new(call.sim.sim_token.encode(), what.encode(), hashlib.sha256).hexdigest()


def _workflow(call: Call) -> Doc:
    wanted = call.path["workflow"]
    for found in call.sim.store.find("workflow", repo_id=call.repo["id"]):
        if wanted in (str(found["id"]), found["path"].rpartition("/")[2]):
            return found
    raise not_found()


def _run(call: Call) -> Doc:
    return _own(call, "run", "run_id")


def _job(call: Call) -> Doc:
    return _own(call, "job", "job_id")


def _own(call: Call, kind: str, name: str) -> Doc:
    found = call.sim.store.get(kind, call.number(name))
    if found is None or found["repo_id"] != call.repo["id"]:
        raise not_found()
    return found


def _actor(call: Call) -> int:
    return call.principal.user_id or int(call.repo["owner_id"])
