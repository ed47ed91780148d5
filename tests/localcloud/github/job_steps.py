"""What a runner is told to do: a job's environment, and each step evaluated when its turn comes."""

import base64
from typing import Any

from localcloud.github import accounts, composite, contexts, git, runs_store
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
    job["plan"] = composite.plan(sim, repository_of(sim, job), job["head_sha"], spec_of(sim, job)["steps"])
    job["step_state"] = {"outputs": {}, "outcomes": {}, "failed": False, "failed_uses": [], "token": token}
    job["steps"] = [_step("Set up job", 1), *_own_steps(job)]
    job["steps"].append(_step("Complete job", len(job["steps"]) + 1))
    github = contexts.github(sim, run)
    variables = {f"GITHUB_{name.upper()}": as_text(github[name]) for name in _CONTEXT_VARIABLES}
    return {
        "job_id": job["id"],
        "name": job["name"],
        "env": {**variables, "GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_JOB": job["job_key"]},
        "event": run["event_payload"],
        "mask": [value for value in [*job["secrets"].values(), token] if value],
        "steps": len(job["plan"]),
    }


def _own_steps(job: Doc) -> list[Doc]:
    return [_step(_title(item["spec"]), number) for number, item in enumerate(job["plan"], 2)]


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
    spec, use = job["plan"][index]["spec"], job["plan"][index]["use"]
    shown = job["steps"][index + 1]
    outer = _scope(sim, job)
    scope = _inside(job, use, outer)
    shown["started_at"] = sim.clock.iso()
    if not condition(spec.get("if"), scope) or (use and not condition(use["step"].get("if"), outer)):
        _finish(sim, job, index, "skipped")
        _leave(job, use, scope)
        return {"skip": True, "name": shown["name"]}
    env = _env(sim, job, [use["step"], spec] if use else [spec], scope)
    scope = Scope({**scope.contexts, "env": env}, scope.failed, scope.cancelled)
    shown["name"] = as_text(interpolate(shown["name"], scope))
    shown["status"] = "in_progress"
    sim.store.save("job", job)
    return {"skip": False, "name": shown["name"], "env": env, **_action(sim, job, spec, scope)}


def _action(sim: Simulator, job: Doc, spec: Doc, scope: Scope) -> Doc:
    if "run" not in spec:
        uses = str(spec.get("uses"))
        made = git.commit(sim, repository_of(sim, job), job["head_sha"])
        if made is None or not uses.startswith("actions/checkout@"):
            return {"uses": uses, "files": None}
        return {"uses": uses, "files": _files(sim, made), "executable": made.get("executable", [])}
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


def _files(sim: Simulator, made: Doc) -> dict[str, str]:
    files = git.files_of(sim, made)
    return {path: base64.b64encode(content).decode() for path, content in files.items()}


def end(sim: Simulator, job: Doc, index: int, report: Doc) -> None:
    """Take a step's outcome: `{outcome, outputs}`."""
    spec, use = job["plan"][index]["spec"], job["plan"][index]["use"]
    outcome = str(report["outcome"])
    tolerated = bool(spec.get("continue-on-error"))
    state: Doc = job["step_state"]
    if "id" in spec:
        key = f"{use['place']}/{spec['id']}" if use else spec["id"]
        state["outputs"][key] = report.get("outputs", {})
        state["outcomes"][key] = [outcome, "success" if tolerated else outcome]
    if outcome == "failure" and not tolerated:
        state["failed"] = True
        state["failed_uses"] += [use["place"]] if use else []
    _leave(job, use, _inside(job, use, _scope(sim, job)))
    _finish(sim, job, index, "success" if tolerated and outcome == "failure" else outcome)


def _leave(job: Doc, use: Doc | None, inner: Scope) -> None:
    """At the end of a composite action's last step: give its outputs to the steps that follow."""
    if use and use["last"] and "id" in use["step"]:
        state: Doc = job["step_state"]
        outcome = "failure" if use["place"] in state["failed_uses"] else "success"
        state["outputs"][use["step"]["id"]] = composite.outputs(use, inner)
        state["outcomes"][use["step"]["id"]] = [outcome, outcome]


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
    secrets = {**job["secrets"], "GITHUB_TOKEN": state["token"]}
    more: Doc = {
        "steps": _ended(state, ""),
        "secrets": secrets,
        "github": {**base.contexts["github"], "token": state["token"]},
        "runner": {"name": job["runner_name"], "os": "Linux", "arch": "X64"},
        "job": {"status": "failure" if state["failed"] else "success"},
    }
    return Scope({**base.contexts, **more}, failed=state["failed"], cancelled=bool(job.get("cancel")))


def _inside(job: Doc, use: Doc | None, outer: Scope) -> Scope:
    """The scope of a step: the job's, or that of the composite action which it belongs to."""
    if use is None:
        return outer
    state: Doc = job["step_state"]
    failed = use["place"] in state["failed_uses"]
    return composite.scope(use, outer, _ended(state, f"{use['place']}/"), failed=failed)


def _ended(state: Doc, prefix: str) -> Doc:
    """The `steps` context: of the job's own steps, or of those of one composite action."""
    pairs = {
        key.removeprefix(prefix): (key, pair)
        for key, pair in state["outcomes"].items()
        if key.startswith(prefix)
    }
    return {
        name: {"outputs": state["outputs"][key], "outcome": pair[0], "conclusion": pair[1]}
        for name, (key, pair) in pairs.items()
    }


def _env(sim: Simulator, job: Doc, steps: list[Doc], scope: Scope) -> dict[str, str]:
    merged: dict[str, str] = {}
    for source in (runs_store.run_of(sim, job)["spec"], spec_of(sim, job), *steps):
        given: Doc = source.get("env") or {}
        inner = Scope({**scope.contexts, "env": merged}, scope.failed, scope.cancelled)
        merged = {**merged, **{key: as_text(interpolate(value, inner)) for key, value in given.items()}}
    return merged
