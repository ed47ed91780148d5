"""The life of a workflow run: its jobs are made when their needs are met, it ends when they have ended."""

import json
from typing import Any

from localcloud.github import contexts, events, run_payloads, runners, runs_store
from localcloud.github.expressions import ExpressionError, as_text, condition, interpolate
from localcloud.github.run_payloads import repository_of
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc, as_doc
from localcloud.github.workflow_files import (
    WorkflowError,
    expand_matrix,
    job_name,
    needs_of,
    parse,
    runs_on,
)


def start(sim: Simulator, repo: Doc, path: str, text: str, trigger: Doc) -> Doc:
    """Start a run of a workflow file.

    `trigger` has `event`, `branch`, `sha`, `actor_id` and optionally `inputs`, `pull_number`, `base_branch`,
    `title`, `payload`.

    Raises:
        WorkflowError: GitHub would refuse the file.
    """
    run = record(sim, repo, path, json.loads(json.dumps(parse(text), default=str)), trigger)
    announce_run(sim, run, "requested")
    plan(sim, run)
    return run


def record(sim: Simulator, repo: Doc, path: str, spec: Doc, trigger: Doc) -> Doc:
    """Keep a new run, without starting anything."""
    workflow = runs_store.workflow_for(sim, repo, path, spec.get("name") or path)
    workflow["runs"] = workflow.get("runs", 0) + 1
    now = sim.clock.iso()
    run: Doc = {
        "id": sim.store.next_id("run", 12_000_000_001),
        "repo_id": repo["id"],
        "workflow_id": workflow["id"],
        "name": workflow["name"],
        "path": path,
        "spec": spec,
        "event": trigger["event"],
        "event_payload": trigger.get("payload", {}),
        "head_branch": trigger["branch"],
        "head_sha": trigger["sha"],
        "base_branch": trigger.get("base_branch", ""),
        "pull_number": trigger.get("pull_number"),
        "head_repo_id": trigger.get("head_repo_id", repo["id"]),
        "inputs": trigger.get("inputs", {}),
        "display_title": trigger.get("title") or workflow["name"],
        "run_number": workflow["runs"],
        "attempt": 1,
        "planned": [],
        "kept": [],
        "status": "queued",
        "conclusion": None,
        "cancel_requested": False,
        "actor_id": trigger["actor_id"],
        "triggering_actor_id": trigger["actor_id"],
        "created_at": now,
        "created": sim.clock.now(),
        "run_started_at": now,
        "updated_at": now,
    }
    return sim.store.save("run", run)


def announce_run(sim: Simulator, run: Doc, action: str) -> None:
    """Send `workflow_run`."""
    workflow = sim.store.get("workflow", run["workflow_id"]) or {}
    content = {
        "workflow_run": run_payloads.run(sim, run),
        "workflow": run_payloads.workflow(sim, workflow),
    }
    events.emit(sim, "workflow_run", action, content, repository_of(sim, run), run["triggering_actor_id"])


def announce_job(sim: Simulator, job: Doc, action: str) -> None:
    """Send `workflow_job`."""
    run = runs_store.run_of(sim, job)
    content = {"workflow_job": run_payloads.job(sim, job)}
    events.emit(sim, "workflow_job", action, content, repository_of(sim, job), run["triggering_actor_id"])


def plan(sim: Simulator, run: Doc) -> None:
    """Make the jobs whose needs have ended; complete the run when nothing is left."""
    jobs: Doc = run["spec"]["jobs"]
    while (key := _next_key(sim, run, jobs)) is not None:
        run["planned"].append(key)
        _make_jobs(sim, run, key)
    _touch(sim, run)
    if len(run["planned"]) == len(jobs) and not runs_store.unfinished(sim, run):
        _complete_run(sim, run)
    sim.wake_runners()


def _next_key(sim: Simulator, run: Doc, jobs: Doc) -> str | None:
    """First job of the file that is not made yet and whose needs have all ended."""
    unfinished = {job["job_key"] for job in runs_store.unfinished(sim, run)}
    ended = set(run["planned"]) - unfinished
    return next(
        (key for key in jobs if key not in run["planned"] and set(needs_of(jobs[key])) <= ended), None
    )


def _make_jobs(sim: Simulator, run: Doc, key: str) -> None:
    spec: Doc = run["spec"]["jobs"][key]
    try:
        scope = contexts.of_job(sim, run, key, {})
        if not condition(spec.get("if"), scope):
            _make_job(sim, run, key, {}, "completed", "skipped")
            return
        strategy = interpolate(spec.get("strategy") or {}, scope)
        for combination in expand_matrix(strategy.get("matrix")):
            if [key, _name(sim, run, key, combination)] not in run["kept"]:
                _make_job(sim, run, key, combination, "queued", None)
    except (ExpressionError, WorkflowError) as error:
        broken = _make_job(sim, run, key, {}, "completed", "failure")
        sim.store.append_text(f"log:{broken['id']}", f"##[error]{error}\n")


def _make_job(
    sim: Simulator, run: Doc, key: str, combination: Doc, status: str, conclusion: str | None
) -> Doc:
    spec: Doc = run["spec"]["jobs"][key]
    labels, group = ([], None) if conclusion else _place(sim, run, key, combination)
    waiting = status == "queued" and _protected(sim, run, spec)
    job: Doc = {
        "id": sim.store.next_id("job", 35_000_000_001),
        "run_id": run["id"],
        "repo_id": run["repo_id"],
        "job_key": key,
        "name": _name(sim, run, key, combination),
        "matrix": combination,
        "labels": labels,
        "group": group,
        "attempt": run["attempt"],
        "workflow_name": run["name"],
        "head_branch": run["head_branch"],
        "head_sha": run["head_sha"],
        "status": "waiting" if waiting else status,
        "conclusion": conclusion,
        "environment": _environment(spec),
        "steps": [],
        "outputs": {},
        "created": sim.clock.now(),
        "created_at": sim.clock.iso(),
        "started_at": None,
        "completed_at": sim.clock.iso() if conclusion else None,
        **dict.fromkeys(("runner_id", "runner_name", "runner_group_id", "runner_group_name", "assigned")),
    }
    sim.store.save("job", job)
    announce_job(sim, job, job["status"])
    return job


def _name(sim: Simulator, run: Doc, key: str, combination: Doc) -> str:
    given: str | None = run["spec"]["jobs"][key].get("name")
    name = job_name(key, given, combination)
    try:
        return as_text(interpolate(name, contexts.of_job(sim, run, key, combination)))
    except ExpressionError:
        return name


def _place(sim: Simulator, run: Doc, key: str, combination: Doc) -> tuple[list[str], str | None]:
    scope = contexts.of_job(sim, run, key, combination)
    return runs_on(interpolate(run["spec"]["jobs"][key]["runs-on"], scope))


def _environment(spec: Doc) -> str | None:
    value: Any = spec.get("environment")
    named = as_doc(value)
    return value if named is None else named.get("name")


def _protected(sim: Simulator, run: Doc, spec: Doc) -> bool:
    names: list[str] = repository_of(sim, run).get("protected_environments", [])
    return _environment(spec) in names


def approve(sim: Simulator, run: Doc, environments: list[str]) -> list[Doc]:
    """Let jobs that wait for an environment go to the queue."""
    found = [
        job
        for job in runs_store.unfinished(sim, run)
        if job["status"] == "waiting" and job["environment"] in environments
    ]
    for job in found:
        job["status"] = "queued"
        sim.store.save("job", job)
        announce_job(sim, job, "queued")
    sim.wake_runners()
    return found


def begin_job(sim: Simulator, job: Doc) -> None:
    """A runner has started the job."""
    job["status"] = "in_progress"
    job["started_at"] = sim.clock.iso()
    job["started"] = sim.clock.now()
    sim.store.save("job", job)
    run = runs_store.run_of(sim, job)
    announce_job(sim, job, "in_progress")
    if run["status"] == "queued":
        run["status"] = "in_progress"
        _touch(sim, run)
        announce_run(sim, run, "in_progress")


def complete_job(sim: Simulator, job: Doc, conclusion: str, note: str | None = None) -> None:
    """End a job, free its runner (an ephemeral one is gone), and go on with the run."""
    if job["status"] == "completed":
        return
    now = sim.clock.iso()
    job |= {"status": "completed", "conclusion": conclusion, "completed_at": now}
    for step in job["steps"]:
        if step["status"] != "completed":
            step |= {"status": "completed", "conclusion": "cancelled", "completed_at": now}
            step["started_at"] = step["started_at"] or now
    if note:
        sim.store.append_text(f"log:{job['id']}", f"##[error]{note}\n")
    sim.store.save("job", job)
    release(sim, job)
    announce_job(sim, job, "completed")
    run = runs_store.run_of(sim, job)
    if conclusion == "failure":
        _fail_fast(sim, run, job)
    plan(sim, run)


def release(sim: Simulator, job: Doc) -> None:
    """Free the runner that a job holds."""
    runner = sim.store.get("runner", job["runner_id"])
    if runner is None or runner.get("job_id") != job["id"]:
        return
    if runner["ephemeral"] and job["status"] == "completed" and job["started_at"]:
        runners.remove(sim, runner)
    else:
        runner["job_id"] = None
        sim.store.save("runner", runner)


def _fail_fast(sim: Simulator, run: Doc, failed: Doc) -> None:
    spec: Doc = run["spec"]["jobs"][failed["job_key"]]
    strategy: Doc = spec.get("strategy") or {}
    if spec.get("continue-on-error") is True or strategy.get("fail-fast", True) is False:
        return
    for job in runs_store.unfinished(sim, run):
        if job["job_key"] == failed["job_key"]:
            cancel_job(sim, job)


def cancel(sim: Simulator, run: Doc) -> None:
    """Cancel a run: queued jobs end at once, running ones when their runner has stopped them."""
    run["cancel_requested"] = True
    sim.store.save("run", run)
    for job in runs_store.unfinished(sim, run):
        cancel_job(sim, job)
    if not runs_store.unfinished(sim, run):
        plan(sim, run)


def cancel_job(sim: Simulator, job: Doc) -> None:
    """Cancel one job."""
    if job["status"] == "in_progress":
        job |= {"cancel": True, "cancelled": sim.clock.now()}
        sim.store.save("job", job)
        sim.wake_runners()
    elif job["status"] != "completed":
        complete_job(sim, job, "cancelled")


def _complete_run(sim: Simulator, run: Doc) -> None:
    if run["status"] == "completed":
        return
    conclusions = [_counted(run, job) for job in runs_store.latest_jobs(sim, run)]
    order = ("failure", "cancelled", "success", "skipped")
    run["conclusion"] = next((name for name in order if name in conclusions), "success")
    if run["cancel_requested"]:
        run["conclusion"] = "cancelled"
    run["status"] = "completed"
    _touch(sim, run)
    announce_run(sim, run, "completed")


def _counted(run: Doc, job: Doc) -> str:
    tolerated = run["spec"]["jobs"][job["job_key"]].get("continue-on-error") is True
    return "success" if tolerated and job["conclusion"] == "failure" else str(job["conclusion"])


def _touch(sim: Simulator, run: Doc) -> None:
    run["updated_at"] = sim.clock.iso()
    sim.store.save("run", run)
