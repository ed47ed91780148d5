"""Which runner gets which job, and what time does to jobs that nobody takes, starts or ends."""

import asyncio

from localcloud.github import accounts, deliveries, groups, runners, runs, runs_store
from localcloud.github.http import NO_DOC
from localcloud.github.run_payloads import repository_of
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

_TICK_S = 0.5
_CANCEL_GRACE_S = 300
_DEFAULT_TIMEOUT_MIN = 360


async def run(sim: Simulator) -> None:
    """Look at the time for ever."""
    while True:
        tick(sim)
        sim.store.commit()
        await asyncio.sleep(_TICK_S)


def tick(sim: Simulator) -> None:
    """Everything that is due by now."""
    for job in sim.store.find("job", status="queued"):
        _check_queued(sim, job)
    for job in sim.store.find("job", status="in_progress"):
        _check_running(sim, job)
    runners.sweep(sim)
    deliveries.prune(sim)


def advance(sim: Simulator, seconds: float) -> None:
    """Move the clock; runners that are alive now are alive then, too."""
    alive = [runner for runner in sim.store.find("runner") if runners.online(sim, runner)]
    sim.clock.advance(seconds)
    for runner in alive:
        runner["last_seen"] = sim.clock.now()
        sim.store.save("runner", runner)
    tick(sim)
    sim.deliveries_wake.set()


def _check_queued(sim: Simulator, job: Doc) -> None:
    now = sim.clock.now()
    assigned = job["assigned"]
    if assigned is not None and now - assigned > sim.setting("assignment_timeout_s"):
        requeue(sim, job)
    if now - job["created"] > sim.setting("queue_timeout_s"):
        hours = sim.setting("queue_timeout_s") // 3600
        runs.complete_job(sim, job, "failure", f"The job was not acquired by a runner within {hours} hours.")


def requeue(sim: Simulator, job: Doc) -> None:
    """Take a job back from a runner that has not started it."""
    runs.release(sim, job)
    names = ("assigned", "runner_id", "runner_name", "runner_group_id", "runner_group_name")
    job |= dict.fromkeys(names)
    sim.store.save("job", job)
    sim.wake_runners()


def _check_running(sim: Simulator, job: Doc) -> None:
    now = sim.clock.now()
    runner = sim.store.get("runner", job["runner_id"])
    seen = (runner or {}).get("last_seen", 0.0)
    if now - seen > sim.setting("runner_lost_after_s"):
        runs.complete_job(sim, job, "failure", lost_text(job["runner_name"]))
    elif "cancelled" in job and now - job["cancelled"] > _CANCEL_GRACE_S:
        runs.complete_job(sim, job, "cancelled", "The operation was canceled.")
    elif "cancelled" not in job and now - job["started"] > 60 * timeout_minutes(sim, job):
        minutes = timeout_minutes(sim, job)
        note = f"The job has exceeded the maximum execution time of {minutes}m0s"
        sim.store.append_text(f"log:{job['id']}", f"##[error]{note}\n")
        runs.cancel_job(sim, job)


def lost_text(name: str) -> str:
    """What GitHub says when a runner is gone in the middle of a job."""
    return (
        f"The self-hosted runner: {name} lost communication with the server. Verify the machine is running "
        "and has a healthy network connection. Anything in your workflow that terminates the runner process, "
        "starves it for CPU/Memory, or blocks its network access can cause this error."
    )


def timeout_minutes(sim: Simulator, job: Doc) -> float:
    """Longest time that a job may run."""
    value = runs_store.run_of(sim, job)["spec"]["jobs"][job["job_key"]].get("timeout-minutes")
    return float(value) if isinstance(value, int | float) else _DEFAULT_TIMEOUT_MIN


def job_for(sim: Simulator, runner: Doc) -> Doc | None:
    """The job assigned to a runner; where there is none, the oldest waiting one that fits is assigned now."""
    if runners.busy(runner):
        job = sim.store.get("job", runner["job_id"])
        return job if job is not None and job["status"] == "queued" else None
    for job in sim.store.find("job", status="queued", assigned=None):
        if fits(sim, runner, job):
            return _assign(sim, runner, job)
    return None


def fits(sim: Simulator, runner: Doc, job: Doc) -> bool:
    """Whether a runner may take a job: all its labels, its group, access of its repository."""
    if not {label.lower() for label in job["labels"]} <= runners.label_names(runner):
        return False
    repo = repository_of(sim, job)
    if runner["repo_id"] is not None:
        return bool(runner["repo_id"] == repo["id"] and job["group"] is None)
    if runner["org_id"] != repo["owner_id"]:
        return False
    group = group_of(sim, runner)
    if job["group"] is not None and str(job["group"]).lower() != str(group["name"]).lower():
        return False
    return groups.serves(group, repo, workflow_reference(sim, job)) and not _held_back(sim, job)


def workflow_reference(sim: Simulator, job: Doc) -> str:
    """`owner/repo/path@ref` of the workflow that a job comes from."""
    run_doc = runs_store.run_of(sim, job)
    return f"{repository_of(sim, job)['full_name']}/{run_doc['path']}@refs/heads/{run_doc['head_branch']}"


def group_of(sim: Simulator, runner: Doc) -> Doc:
    """Group of a runner; repository runners are in the default one."""
    if runner["org_id"] is None:
        return {"id": groups.DEFAULT_GROUP, "name": "Default"}
    return groups.get(sim, accounts.account_by_id(sim, runner["org_id"]), runner["group_id"])


def _held_back(sim: Simulator, job: Doc) -> bool:
    run_doc = runs_store.run_of(sim, job)
    strategy: Doc | None = run_doc["spec"]["jobs"][job["job_key"]].get("strategy")
    limit: object = (strategy or NO_DOC).get("max-parallel")
    if not isinstance(limit, int):
        return False
    siblings = [other for other in runs_store.unfinished(sim, run_doc) if other["job_key"] == job["job_key"]]
    return sum(other["assigned"] is not None for other in siblings) >= limit


def _assign(sim: Simulator, runner: Doc, job: Doc) -> Doc:
    group = group_of(sim, runner)
    job |= {
        "assigned": sim.clock.now(),
        "runner_id": runner["id"],
        "runner_name": runner["name"],
        "runner_group_id": group["id"],
        "runner_group_name": group["name"],
    }
    runner["job_id"] = job["id"]
    sim.store.save("job", job)
    sim.store.save("runner", runner)
    return job
