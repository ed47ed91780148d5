"""Control actions about time and workflow runs."""

from starlette.requests import Request

from localcloud.github import accounts, git, run_payloads, runs, scheduler, triggers
from localcloud.github.control import Action, Answer, show_clock
from localcloud.github.errors import ApiError, not_found
from localcloud.github.gate import Gate
from localcloud.github.store import Doc
from localcloud.github.workflow_files import WorkflowError


def advance_clock(gate: Gate, request: Request, body: Doc) -> Answer:
    """Move the clock forward: `{advance_s}`."""
    scheduler.advance(gate.sim, float(body["advance_s"]))
    return show_clock(gate, request, body)


def push_files(gate: Gate, request: Request, body: Doc) -> Answer:
    """Commit text files at once: `{repository, branch, message, files: {path: text}, executable: [path]}`."""
    repo = _repository(gate, body)
    files: dict[str, str] = body["files"]
    branch = str(body.get("branch", repo["default_branch"]))
    content: dict[str, bytes | None] = {path: text.encode() for path, text in files.items()}
    message, executable = body.get("message", "Update files"), body.get("executable", ())
    made = git.write_files(gate.sim, repo, branch, content, message, executable)
    started = triggers.pushed(gate.sim, repo, branch, made, _actor(gate, repo))
    return {"sha": made["sha"], "runs": [run["id"] for run in started]}, 201


def start_run(gate: Gate, request: Request, body: Doc) -> Answer:
    """Start a run of a workflow text: `{repository, workflow, path, event, branch, inputs, …}`.

    `head_repository` is where the code comes from, if it is a fork.
    """
    repo = _repository(gate, body)
    path = body.get("path", ".github/workflows/ci.yml")
    branch = str(body.get("branch", repo["default_branch"]))
    text: str = body["workflow"]
    made = git.write_files(gate.sim, repo, branch, {path: text.encode()}, body.get("message", "Run"))
    trigger: Doc = {
        "event": body.get("event", "push"),
        "branch": branch,
        "sha": made["sha"],
        "actor_id": _actor(gate, repo),
        "inputs": body.get("inputs", {}),
    }
    if "head_repository" in body:
        trigger["head_repo_id"] = _repository(gate, {"repository": body["head_repository"]})["id"]
    try:
        run = runs.start(gate.sim, repo, path, text, trigger)
    except WorkflowError as error:
        raise ApiError(422, f"{path}: {error}") from error
    return run_payloads.run(gate.sim, run), 201


def protect_environments(gate: Gate, request: Request, body: Doc) -> Answer:
    """Environments that need an approval: `{repository, environments}`."""
    repo = _repository(gate, body)
    repo["protected_environments"] = body["environments"]
    gate.sim.store.save("repository", repo)
    return {}, 200


def lose_runner(gate: Gate, request: Request, body: Doc) -> Answer:
    """Give a silent runner up now instead of after ten minutes; its job fails: `{name}`."""
    runner = gate.sim.store.first("runner", name=body["name"])
    if runner is None:
        raise not_found()
    runner["last_seen"] = None
    gate.sim.store.save("runner", runner)
    job = gate.sim.store.get("job", runner["job_id"])
    if job is not None and job["status"] == "in_progress":
        runs.complete_job(gate.sim, job, "failure", scheduler.lost_text(runner["name"]))
    return {}, 200


def _repository(gate: Gate, body: Doc) -> Doc:
    owner, _, name = str(body["repository"]).partition("/")
    found = accounts.repository(gate.sim, owner, name)
    if found is None:
        raise not_found()
    return found


def _actor(gate: Gate, repo: Doc) -> int:
    owner = accounts.account_by_id(gate.sim, repo["owner_id"])
    owners: list[int] = owner.get("owners") or [owner["id"]]
    return owners[0]


ROUTES: tuple[tuple[str, str, Action], ...] = (
    ("POST", "/clock", advance_clock),
    ("POST", "/files", push_files),
    ("POST", "/runs", start_run),
    ("POST", "/environments", protect_environments),
    ("POST", "/lost-runners", lose_runner),
)
