"""Endpoints of commit statuses and check runs."""

from localcloud.github import accounts, fields, git, payloads
from localcloud.github.errors import ApiError, not_found
from localcloud.github.http import Api, Call, Reply
from localcloud.github.paging import page
from localcloud.github.principal import reads, writes
from localcloud.github.store import Doc

api = Api()
_REPO = "/repos/{owner}/{repo}"
_STATES = ("error", "failure", "pending", "success")
_CHECK = _REPO + "/check-runs/{check_run_id}"
_READ_STATUS = reads("statuses", "repo", public=True)
_READ_CHECKS = reads("checks", "repo", public=True)
_WRITE_CHECKS = writes("checks", "repo")


@api.route("POST", _REPO + "/statuses/{sha}", writes("statuses", "repo"), content=True)
def create_status(call: Call) -> Reply:
    """Set a commit's status in one context."""
    if git.commit(call.sim, call.repo, call.path["sha"]) is None:
        raise ApiError(422, f"No commit found for SHA: {call.path['sha']}")
    now = call.sim.clock.iso()
    status: Doc = {
        "id": call.sim.store.next_id("status", 41_000_000_001),
        "repo_id": call.repo["id"],
        "sha": call.path["sha"],
        "state": fields.choice(call.body, "state", _STATES, ""),
        "context": fields.text(call.body, "context", "default"),
        "description": call.body.get("description"),
        "target_url": call.body.get("target_url"),
        "user_id": call.principal.user_id or call.repo["owner_id"],
        "created_at": now,
        "updated_at": now,
    }
    call.sim.store.save("status", status)
    return Reply(_show_status(call, status), 201)


@api.route("GET", _REPO + "/commits/{sha}/statuses", _READ_STATUS)
def list_statuses(call: Call) -> Reply:
    """Statuses of a commit, newest first."""
    found = call.sim.store.find("status", repo_id=call.repo["id"], sha=_sha(call))
    return page(call, found[::-1], lambda doc: _show_status(call, doc))


def _show_status(call: Call, doc: Doc) -> Doc:
    creator = payloads.user(call.sim, accounts.account_by_id(call.sim, doc["user_id"]))
    names = ("id", "state", "description", "target_url", "context", "created_at", "updated_at")
    return {
        **{name: doc[name] for name in names},
        "node_id": accounts.node_id("SC", doc["id"]),
        "url": f"{call.sim.api_url}/repos/{call.repo['full_name']}/statuses/{doc['sha']}",
        "avatar_url": creator["avatar_url"],
        "creator": creator,
    }


@api.route("POST", f"{_REPO}/check-runs", _WRITE_CHECKS, content=True)
def create_check_run(call: Call) -> Reply:
    """Make a check run; only apps may."""
    if call.principal.kind != "installation":
        raise ApiError(403, "You must authenticate via a GitHub App.")
    check: Doc = {
        "id": call.sim.store.next_id("check_run", 36_000_000_001),
        "repo_id": call.repo["id"],
        "name": fields.text(call.body, "name"),
        "head_sha": fields.text(call.body, "head_sha"),
        "app_id": call.principal.app_id,
        "started_at": call.sim.clock.iso(),
    }
    return Reply(_show_check(call, _updated(call, check)), 201)


@api.route("PATCH", _CHECK, _WRITE_CHECKS)
def update_check_run(call: Call) -> Reply:
    """Change a check run."""
    return Reply(_show_check(call, _updated(call, _check(call))))


@api.route("GET", _CHECK, _READ_CHECKS)
def show_check_run(call: Call) -> Reply:
    """One check run."""
    return Reply(_show_check(call, _check(call)))


@api.route("GET", _REPO + "/commits/{sha}/check-runs", _READ_CHECKS)
def list_check_runs(call: Call) -> Reply:
    """Check runs of a commit."""
    found = call.sim.store.find("check_run", repo_id=call.repo["id"], head_sha=_sha(call))
    return page(call, found, lambda doc: _show_check(call, doc), "check_runs")


def _updated(call: Call, check: Doc) -> Doc:
    check["conclusion"] = call.body.get("conclusion", check.get("conclusion"))
    default = "completed" if check["conclusion"] else check.get("status", "queued")
    check["status"] = fields.text(call.body, "status", default)
    for name in ("details_url", "external_id", "output"):
        check[name] = call.body.get(name, check.get(name))
    check["completed_at"] = call.sim.clock.iso() if check["status"] == "completed" else None
    return call.sim.store.save("check_run", check)


def _show_check(call: Call, check: Doc) -> Doc:
    url = f"{call.sim.api_url}/repos/{call.repo['full_name']}/check-runs/{check['id']}"
    output: Doc = check["output"] or {}
    names = ("id", "name", "head_sha", "status", "conclusion", "started_at", "completed_at", "details_url")
    return {
        **{name: check[name] for name in names},
        "node_id": accounts.node_id("CR", check["id"]),
        "external_id": check["external_id"] or "",
        "url": url,
        "html_url": f"{call.sim.public_url}/{call.repo['full_name']}/runs/{check['id']}",
        "output": {
            **{name: output.get(name) for name in ("title", "summary", "text")},
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": check["id"] + 1_000_000},
        "app": None,
        "pull_requests": [],
    }


def _check(call: Call) -> Doc:
    found = call.sim.store.get("check_run", call.number("check_run_id"))
    if found is None or found["repo_id"] != call.repo["id"]:
        raise not_found()
    return found


def _sha(call: Call) -> str:
    made = git.commit(call.sim, call.repo, call.path["sha"])
    return str(made["sha"]) if made else call.path["sha"]
