"""How workflows, runs and jobs look in REST answers and in webhook payloads."""

from urllib.parse import quote

from localcloud.github import accounts, payloads
from localcloud.github.accounts import node_id
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc


def repository_of(sim: Simulator, doc: Doc) -> Doc:
    """Repository of a run, job or workflow."""
    found = accounts.repository_by_id(sim, doc["repo_id"])
    if found is None:
        raise LookupError(f"repository {doc['repo_id']} is gone")
    return found


def workflow(sim: Simulator, doc: Doc) -> Doc:
    """A workflow."""
    repo = repository_of(sim, doc)
    page = f"{sim.public_url}/{repo['full_name']}"
    return {
        "id": doc["id"],
        "node_id": node_id("W", doc["id"]),
        "name": doc["name"],
        "path": doc["path"],
        "state": doc["state"],
        "created_at": doc["created_at"],
        "updated_at": doc["updated_at"],
        "url": f"{sim.api_url}/repos/{repo['full_name']}/actions/workflows/{doc['id']}",
        "html_url": f"{page}/blob/{repo['default_branch']}/{doc['path']}",
        "badge_url": f"{page}/workflows/{quote(doc['name'])}/badge.svg",
    }


def run(sim: Simulator, doc: Doc) -> Doc:
    """A workflow run, in its current attempt."""
    repo = repository_of(sim, doc)
    base = f"{sim.api_url}/repos/{repo['full_name']}"
    url = f"{base}/actions/runs/{doc['id']}"
    suite = doc["id"] + 1_000_000
    attempt = doc["attempt"]
    return {
        "id": doc["id"],
        "name": doc["name"],
        "node_id": node_id("WFR", doc["id"]),
        "check_suite_id": suite,
        "check_suite_node_id": node_id("CS", suite),
        "head_branch": doc["head_branch"],
        "head_sha": doc["head_sha"],
        "path": doc["path"],
        "display_title": doc["display_title"],
        "run_number": doc["run_number"],
        "run_attempt": attempt,
        "run_started_at": doc["run_started_at"],
        "event": doc["event"],
        "status": doc["status"],
        "conclusion": doc["conclusion"],
        "workflow_id": doc["workflow_id"],
        "pull_requests": [],
        "created_at": doc["created_at"],
        "updated_at": doc["updated_at"],
        "actor": payloads.user(sim, accounts.account_by_id(sim, doc["actor_id"])),
        "triggering_actor": payloads.user(sim, accounts.account_by_id(sim, doc["triggering_actor_id"])),
        "referenced_workflows": [],
        "url": url,
        "html_url": f"{sim.public_url}/{repo['full_name']}/actions/runs/{doc['id']}",
        **{f"{name}_url": f"{url}/{name}" for name in ("jobs", "logs", "artifacts", "cancel", "rerun")},
        "check_suite_url": f"{base}/check-suites/{suite}",
        "previous_attempt_url": f"{url}/attempts/{attempt - 1}" if attempt > 1 else None,
        "workflow_url": f"{base}/actions/workflows/{doc['workflow_id']}",
        "head_commit": head_commit(sim, doc),
        "repository": payloads.repository_lite(sim, repo),
        "head_repository": _head_repository(sim, doc),
    }


def _head_repository(sim: Simulator, doc: Doc) -> Doc | None:
    """Where the code comes from: a fork for a pull request from one, nothing once it is deleted."""
    found = accounts.repository_by_id(sim, int(doc.get("head_repo_id") or doc["repo_id"]))
    return None if found is None else payloads.repository_lite(sim, found)


def head_commit(sim: Simulator, doc: Doc) -> Doc:
    """The commit of a run."""
    made = sim.store.get("commit", f"{doc['repo_id']}:{doc['head_sha']}") or {}
    actor = accounts.account_by_id(sim, doc["actor_id"])
    author = {"name": actor["login"], "email": f"{actor['login']}@users.noreply.example.com"}
    return {
        "id": doc["head_sha"],
        "tree_id": made.get("tree_sha", doc["head_sha"]),
        "message": made.get("message", doc["display_title"]),
        "timestamp": made.get("created_at", doc["created_at"]),
        "author": author,
        "committer": author,
    }


def job(sim: Simulator, doc: Doc) -> Doc:
    """A job; runner fields stay null until a runner has started it."""
    repo = repository_of(sim, doc)
    base = f"{sim.api_url}/repos/{repo['full_name']}"
    page = f"{sim.public_url}/{repo['full_name']}"
    started = doc["started_at"] is not None and doc["runner_id"] is not None
    runner = ("runner_id", "runner_name", "runner_group_id", "runner_group_name")
    return {
        "id": doc["id"],
        "run_id": doc["run_id"],
        "workflow_name": doc["workflow_name"],
        "head_branch": doc["head_branch"],
        "run_url": f"{base}/actions/runs/{doc['run_id']}",
        "run_attempt": doc["attempt"],
        "node_id": node_id("CR", doc["id"]),
        "head_sha": doc["head_sha"],
        "url": f"{base}/actions/jobs/{doc['id']}",
        "html_url": f"{page}/actions/runs/{doc['run_id']}/job/{doc['id']}",
        "status": doc["status"],
        "conclusion": doc["conclusion"],
        "created_at": doc["created_at"],
        "started_at": doc["started_at"] or doc["created_at"],
        "completed_at": doc["completed_at"],
        "name": doc["name"],
        "steps": [_step(step) for step in doc["steps"]],
        "check_run_url": f"{base}/check-runs/{doc['id']}",
        "labels": doc["labels"],
        **{name: doc[name] if started else None for name in runner},
    }


def _step(step: Doc) -> Doc:
    names = ("name", "status", "conclusion", "number", "started_at", "completed_at")
    return {name: step[name] for name in names}
