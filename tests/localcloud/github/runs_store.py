"""Workflows, runs and jobs as stored."""

from localcloud.github.errors import not_found
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc


def workflow_for(sim: Simulator, repo: Doc, path: str, name: str) -> Doc:
    """The workflow of a file, made where it is new."""
    found = sim.store.first("workflow", repo_id=repo["id"], path=path)
    now = sim.clock.iso()
    if found is None:
        number = sim.store.next_id("workflow", 160_000_001)
        found = {"id": number, "repo_id": repo["id"], "path": path, "state": "active", "created_at": now}
    return sim.store.save("workflow", {**found, "name": name, "updated_at": now})


def run_of(sim: Simulator, job: Doc) -> Doc:
    """Run of a job.

    Raises:
        ApiError: 404 where it is gone.
    """
    found = sim.store.get("run", job["run_id"])
    if found is None:
        raise not_found()
    return found


def jobs_of(sim: Simulator, run: Doc) -> list[Doc]:
    """Jobs of all attempts, oldest first."""
    return sim.store.find("job", run_id=run["id"])


def latest_jobs(sim: Simulator, run: Doc) -> list[Doc]:
    """The newest job of each name: what the run consists of now."""
    newest = {(job["job_key"], job["name"]): job for job in jobs_of(sim, run)}
    return list(newest.values())


def unfinished(sim: Simulator, run: Doc) -> list[Doc]:
    """Jobs that are not completed."""
    return [job for job in jobs_of(sim, run) if job["status"] != "completed"]
