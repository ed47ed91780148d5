"""What starts runs: pushed files, pull requests, dispatches."""

from typing import Any

from localcloud.github import git, runs, runs_store
from localcloud.github.errors import ApiError
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc, as_doc
from localcloud.github.workflow_files import WorkflowError, parse, triggered

_FOLDER = ".github/workflows/"


def pushed(sim: Simulator, repo: Doc, branch: str, made: Doc, actor_id: int) -> list[Doc]:
    """Know the workflows of a commit and start those that a push starts."""
    _learn(sim, repo, made)
    payload = {
        "ref": f"refs/heads/{branch}",
        "after": made["sha"],
        "head_commit": {"message": made["message"]},
    }
    trigger: Doc = {
        "event": "push",
        "branch": branch,
        "sha": made["sha"],
        "actor_id": actor_id,
        "title": made["message"].splitlines()[0] if made["message"] else None,
        "payload": payload,
    }
    before = git.commit(sim, repo, made["parent"]) if made["parent"] else None
    return _start_all(sim, repo, made, trigger, branch, git.changed(made, before))


def pull_request(sim: Simulator, repo: Doc, pull: Doc, action: str, actor_id: int) -> list[Doc]:
    """Start the workflows that a pull request starts, as they are in its head."""
    made = git.commit(sim, repo, pull["head"])
    if made is None:
        return []
    trigger: Doc = {
        "event": "pull_request",
        "branch": pull["head"],
        "base_branch": pull["base"],
        "sha": made["sha"],
        "actor_id": actor_id,
        "pull_number": pull["number"],
        "title": pull["title"],
        "payload": {
            "action": action,
            "number": pull["number"],
            "pull_request": {
                "number": pull["number"],
                "title": pull["title"],
                "head": {"ref": pull["head"], "sha": made["sha"], "repo": {"full_name": repo["full_name"]}},
                "base": {"ref": pull["base"], "repo": {"full_name": repo["full_name"]}},
            },
        },
    }
    return _start_all(
        sim, repo, made, trigger, pull["base"], git.changed(made, git.commit(sim, repo, pull["base"]))
    )


def dispatch(sim: Simulator, repo: Doc, path: str, reference: str, inputs: Doc, actor_id: int) -> Doc:
    """Start one workflow by hand.

    Raises:
        ApiError: 422 for a file without `workflow_dispatch`, or that GitHub would refuse.
    """
    branch = reference.removeprefix("refs/heads/")
    made = git.commit(sim, repo, branch)
    if made is None:
        raise ApiError(422, f"No ref found for: {reference}")
    text = git.blob(sim, made["tree"][path]).decode()
    try:
        declared: Any = parse(text)["on"].get("workflow_dispatch")
        if declared is None:
            raise ApiError(422, "Workflow does not have 'workflow_dispatch' trigger")
        values = _inputs(declared.get("inputs") or {}, inputs)
        trigger: Doc = {
            "event": "workflow_dispatch",
            "branch": branch,
            "sha": made["sha"],
            "actor_id": actor_id,
            "inputs": values,
            "payload": {"inputs": values, "ref": f"refs/heads/{branch}"},
        }
        return runs.start(sim, repo, path, text, trigger)
    except WorkflowError as error:
        raise ApiError(422, f"Invalid workflow file: {path}: {error}") from error


def _inputs(declared: Doc, given: Doc) -> Doc:
    unknown = sorted(given.keys() - declared.keys())
    if unknown:
        raise ApiError(422, f"Unexpected inputs provided: {unknown}")
    rules = {name: as_doc(rule) or {} for name, rule in declared.items()}
    for name, rule in rules.items():
        if rule.get("required") and "default" not in rule and name not in given:
            raise ApiError(422, f"Required input '{name}' not provided")
    return {name: given.get(name, rule.get("default", "")) for name, rule in rules.items()}


def _learn(sim: Simulator, repo: Doc, made: Doc) -> None:
    for path, text in _workflow_files(sim, made):
        try:
            name = parse(text).get("name") or path
        except WorkflowError:
            name = path
        runs_store.workflow_for(sim, repo, path, name)


def _workflow_files(sim: Simulator, made: Doc) -> list[tuple[str, str]]:
    paths = [path for path in made["tree"] if path.startswith(_FOLDER) and path.endswith((".yml", ".yaml"))]
    return [(path, git.blob(sim, made["tree"][path]).decode()) for path in sorted(paths)]


def _start_all(
    sim: Simulator, repo: Doc, made: Doc, trigger: Doc, branch: str, changed: set[str]
) -> list[Doc]:
    started: list[Doc] = []
    for path, text in _workflow_files(sim, made):
        try:
            if triggered(parse(text), trigger["event"], branch, changed):
                started.append(runs.start(sim, repo, path, text, trigger))
        except WorkflowError as error:
            started.append(_refused(sim, repo, path, trigger, error))
    return started


def _refused(sim: Simulator, repo: Doc, path: str, trigger: Doc, error: WorkflowError) -> Doc:
    """GitHub shows a file that it refuses as a failed run without jobs."""
    run = runs.record(sim, repo, path, {"name": path, "jobs": {}}, trigger)
    run |= {"status": "completed", "conclusion": "failure", "problem": str(error)}
    return sim.store.save("run", run)
