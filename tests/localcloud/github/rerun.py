"""Re-runs: a new attempt in which chosen jobs get new ids and the others keep their results."""

from localcloud.github import runs, runs_store
from localcloud.github.errors import ApiError
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc
from localcloud.github.workflow_files import dependents_of

_MAX_AGE_S = 30 * 24 * 3600
_FAILED = ("failure", "cancelled")
_RUNNING = "This workflow is already running"


def rerun_all(sim: Simulator, run: Doc, actor_id: int) -> None:
    """Run everything again.

    Raises:
        ApiError: 403 while it runs, or more than 30 days after it was made.
    """
    _require_possible(sim, run, _RUNNING)
    _restart(sim, run, set(run["spec"]["jobs"]), [], actor_id)


def rerun_failed(sim: Simulator, run: Doc, actor_id: int) -> None:
    """Run the failed and cancelled jobs again, with those that wait for them.

    Raises:
        ApiError: 403 as for `rerun_all`, or where nothing has failed.
    """
    _require_possible(sim, run, _RUNNING)
    latest = runs_store.latest_jobs(sim, run)
    keys = {job["job_key"] for job in latest if job["conclusion"] in _FAILED}
    if not keys:
        raise ApiError(403, "This workflow run has no failed jobs to re-run")
    good = [job for job in latest if job["job_key"] in keys and job["conclusion"] not in _FAILED]
    _restart(sim, run, keys, good, actor_id)


def rerun_job(sim: Simulator, job: Doc, actor_id: int) -> None:
    """Run one job again, with those that wait for it.

    Raises:
        ApiError: 403 as for `rerun_all`, or for a job of an older attempt that was run again since.
    """
    run = runs_store.run_of(sim, job)
    _require_possible(sim, run, "The workflow run containing this job is already running")
    latest = runs_store.latest_jobs(sim, run)
    if job not in latest:
        raise ApiError(403, "This job cannot be re-run: a newer attempt of it exists")
    siblings = [item for item in latest if item["job_key"] == job["job_key"] and item["id"] != job["id"]]
    _restart(sim, run, {job["job_key"]}, siblings, actor_id)


def _require_possible(sim: Simulator, run: Doc, running: str) -> None:
    if run["status"] != "completed":
        raise ApiError(403, running)
    if sim.clock.now() - run["created"] > _MAX_AGE_S:
        raise ApiError(403, "Unable to retry this workflow run because it was created over a month ago")


def _restart(sim: Simulator, run: Doc, keys: set[str], kept: list[Doc], actor_id: int) -> None:
    again = dependents_of(run["spec"]["jobs"], keys)
    run |= {
        "attempt": run["attempt"] + 1,
        "status": "queued",
        "conclusion": None,
        "cancel_requested": False,
        "triggering_actor_id": actor_id,
        "run_started_at": sim.clock.iso(),
        "planned": [key for key in run["planned"] if key not in again],
        "kept": [[job["job_key"], job["name"]] for job in kept],
    }
    sim.store.save("run", run)
    runs.announce_run(sim, run, "requested")
    runs.plan(sim, run)
