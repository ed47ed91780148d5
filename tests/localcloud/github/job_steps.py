"""What a runner is told to do: a job's environment, and each step evaluated when its turn comes."""

import base64
from typing import Any

from localcloud.github import accounts, contexts, git, runs_store
from localcloud.github.expressions import Scope, as_text, condition, interpolate
from localcloud.github.rest_variables import values_for
from localcloud.github.run_payloads import repository_of
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc, as_doc
from localcloud.github.tokens import issue, random_text

_TOKEN_LIFE_S = 24 * 3600
_DEFAULT_PERMISSIONS = {"contents": "read", "metadata": "read", "packages": "read"}
_CONTEXT_VARIABLES = (
    "repository",
    "repository_id",
    "repository_owner",
    "ref",
    "ref_name",
    "ref_type",
    "head_ref",
    "base_ref",
    "sha",
    "run_id",
    "run_number",
    "run_attempt",
    "workflow",
    "workflow_ref",
    "actor",
    "event_name",
    "server_url",
    "api_url",
    "graphql_url",
)


def spec_of(sim: Simulator, job: Doc) -> Doc:
    """The job's part of the workflow file."""
    found: Doc = runs_store.run_of(sim, job)["spec"]["jobs"][job["job_key"]]
    return found


def prepare(sim: Simulator, job: Doc) -> Doc:
    """Everything that a runner needs to begin: variables, secrets to mask, number of steps."""
    run = runs_store.run_of(sim, job)
    job["secrets"] = values_for(sim, "secret", repository_of(sim, job))
    token = _job_token(sim, run, job)
    job["step_state"] = {"outputs": {}, "outcomes": {}, "failed": False, "token": token}
    job["steps"] = [_step("Set up job", 1), *_own_steps(sim, job)]
    job["steps"].append(_step("Complete job", len(job["steps"]) + 1))
    github = contexts.github(sim, run)
    variables = {f"GITHUB_{name.upper()}": as_text(github[name]) for name in _CONTEXT_VARIABLES}
    return {
        "job_id": job["id"],
        "name": job["name"],
        "env": {**variables, "GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_JOB": job["job_key"]},
        "event": run["event_payload"],
        "mask": [value for value in [*job["secrets"].values(), token] if value],
        "steps": len(spec_of(sim, job)["steps"]),
    }


def _own_steps(sim: Simulator, job: Doc) -> list[Doc]:
    steps: list[Doc] = spec_of(sim, job)["steps"]
    return [_step(_title(step), number) for number, step in enumerate(steps, 2)]


def _step(name: str, number: int) -> Doc:
    empty = dict.fromkeys(("conclusion", "started_at", "completed_at"))
    return {"name": name, "status": "queued", "number": number, **empty}


def _title(step: Doc) -> str:
    if "name" in step:
        return str(step["name"])
    return (
        f"Run {step['uses']}" if "uses" in step else f"Run {str(step.get('run', '')).strip().splitlines()[0]}"
    )


def _job_token(sim: Simulator, run: Doc, job: Doc) -> str:
    """The job's `GITHUB_TOKEN`, for its repository only."""
    repo = repository_of(sim, job)
    wanted: Any = spec_of(sim, job).get("permissions", run["spec"].get("permissions", _DEFAULT_PERMISSIONS))
    token = f"ghs_{random_text(36)}"
    bot = accounts.account(sim, "github-actions[bot]") or {"id": 0}
    issue(
        sim,
        token,
        kind="installation",
        installation_id=0,
        app_id=15368,
        account_id=repo["owner_id"],
        user_id=bot["id"],
        repository_ids=[repo["id"]],
        permissions=_permissions(wanted),
        expires_at=sim.clock.now() + _TOKEN_LIFE_S,
    )
    return token


def _permissions(wanted: Any) -> Doc:
    names = ("actions", "checks", "contents", "issues", "pull_requests", "statuses")
    if wanted in ("read-all", "write-all"):
        return {"metadata": "read", **dict.fromkeys(names, wanted.removesuffix("-all"))}
    given: Doc = wanted or {}
    chosen = {name.replace("-", "_"): level for name, level in given.items() if level != "none"}
    return {"metadata": "read", **chosen}


def begin(sim: Simulator, job: Doc, index: int) -> Doc:
    """Evaluate one step; `skip` says that its condition does not hold."""
    spec: Doc = spec_of(sim, job)["steps"][index]
    shown = job["steps"][index + 1]
    scope = _scope(sim, job)
    shown["started_at"] = sim.clock.iso()
    if not condition(spec.get("if"), scope):
        _finish(sim, job, index, "skipped")
        return {"skip": True, "name": shown["name"]}
    env = _env(sim, job, spec, scope)
    scope = Scope({**scope.contexts, "env": env}, scope.failed, scope.cancelled)
    shown["name"] = as_text(interpolate(shown["name"], scope))
    shown["status"] = "in_progress"
    sim.store.save("job", job)
    return {"skip": False, "name": shown["name"], "env": env, **_action(sim, job, spec, scope)}


def _action(sim: Simulator, job: Doc, spec: Doc, scope: Scope) -> Doc:
    if "run" not in spec:
        uses = str(spec.get("uses"))
        files = _checkout(sim, job) if uses.startswith("actions/checkout@") else None
        return {"uses": uses, "files": files}
    defaults = _defaults(spec_of(sim, job))
    return {
        "run": as_text(interpolate(spec["run"], scope)),
        "shell": spec.get("shell", defaults.get("shell", "bash -e {0}")),
        "working_directory": as_text(
            interpolate(spec.get("working-directory", defaults.get("working-directory", ".")), scope)
        ),
        "timeout_s": 60 * spec["timeout-minutes"] if "timeout-minutes" in spec else None,
    }


def _defaults(spec: Doc) -> Doc:
    given = as_doc(spec.get("defaults")) or {}
    return as_doc(given.get("run")) or {}


def _checkout(sim: Simulator, job: Doc) -> dict[str, str]:
    made = git.commit(sim, repository_of(sim, job), job["head_sha"])
    files = git.files_of(sim, made) if made else {}
    return {path: base64.b64encode(content).decode() for path, content in files.items()}


def end(sim: Simulator, job: Doc, index: int, report: Doc) -> None:
    """Take a step's outcome: `{outcome, outputs}`."""
    spec: Doc = spec_of(sim, job)["steps"][index]
    outcome = str(report["outcome"])
    tolerated = bool(spec.get("continue-on-error"))
    state: Doc = job["step_state"]
    if "id" in spec:
        state["outputs"][spec["id"]] = report.get("outputs", {})
        state["outcomes"][spec["id"]] = [outcome, "success" if tolerated else outcome]
    state["failed"] = state["failed"] or (outcome == "failure" and not tolerated)
    _finish(sim, job, index, "success" if tolerated and outcome == "failure" else outcome)


def _finish(sim: Simulator, job: Doc, index: int, conclusion: str) -> None:
    job["steps"][index + 1] |= {
        "status": "completed",
        "conclusion": conclusion,
        "completed_at": sim.clock.iso(),
    }
    sim.store.save("job", job)


def outputs(sim: Simulator, job: Doc) -> Doc:
    """The job's outputs, for jobs that need it."""
    wanted: Doc = spec_of(sim, job).get("outputs") or {}
    scope = _scope(sim, job)
    return {name: as_text(interpolate(value, scope)) for name, value in wanted.items()}


def _scope(sim: Simulator, job: Doc) -> Scope:
    run = runs_store.run_of(sim, job)
    base = contexts.of_job(sim, run, job["job_key"], job["matrix"])
    state: Doc = job["step_state"]
    steps = {
        key: {"outputs": state["outputs"][key], "outcome": pair[0], "conclusion": pair[1]}
        for key, pair in state["outcomes"].items()
    }
    secrets = {**job["secrets"], "GITHUB_TOKEN": state["token"]}
    more: Doc = {
        "steps": steps,
        "secrets": secrets,
        "github": {**base.contexts["github"], "token": state["token"]},
        "runner": {"name": job["runner_name"], "os": "Linux", "arch": "X64"},
        "job": {"status": "failure" if state["failed"] else "success"},
    }
    return Scope({**base.contexts, **more}, failed=state["failed"], cancelled=bool(job.get("cancel")))


def _env(sim: Simulator, job: Doc, step: Doc, scope: Scope) -> dict[str, str]:
    merged: dict[str, str] = {}
    for source in (runs_store.run_of(sim, job)["spec"], spec_of(sim, job), step):
        given: Doc = source.get("env") or {}
        inner = Scope({**scope.contexts, "env": merged}, scope.failed, scope.cancelled)
        merged = {**merged, **{key: as_text(interpolate(value, inner)) for key, value in given.items()}}
    return merged
