"""The control interface for tests, below /_sim/: seed, faults, clock, request log, reset."""

from pathlib import Path
from typing import Any

from localcloud.gitlab import faults, jobs, projects, workers
from localcloud.gitlab.api.core import Api, Call
from localcloud.gitlab.errors import ApiError, unauthorized
from localcloud.gitlab.git import Change
from localcloud.gitlab.instance import ALL_SCOPES, add_token, add_user, reset
from localcloud.gitlab.present import project as shown
from localcloud.gitlab.store import Row
from localcloud.gitlab.triggers import accept_refs, after_push

api = Api("/_sim")
LEVELS = {"guest": 10, "reporter": 20, "developer": 30, "maintainer": 40, "owner": 50}


def _guard(call: Call) -> None:
    if call.token() != call.instance.settings.sim_token:
        raise unauthorized()


@api.post("/reset")
def reset_all(call: Call) -> Row:
    """Throw everything away and start as new."""
    _guard(call)
    reset(call.instance)
    return {"reset": True}


@api.get("/faults")
def list_faults(call: Call) -> list[Row]:
    """Rules that are in force."""
    _guard(call)
    return [
        row["rule"] | {"id": row["id"], "remaining": row["remaining"]} for row in call.store.find("faults")
    ]


@api.post("/faults")
def add_faults(call: Call) -> Row:
    """Add one rule, or several in `rules`."""
    _guard(call)
    rules = call.params.objects("rules") or [call.params.values]
    call.params.check()
    with call.store.transaction():
        return {"ids": [faults.add(call.instance, rule) for rule in rules]}


@api.delete("/faults")
def clear_faults(call: Call) -> None:
    """Remove all rules."""
    _guard(call)
    call.store.delete("faults")


@api.delete("/faults/{fault_id}")
def remove_fault(call: Call) -> None:
    """Remove one rule."""
    _guard(call)
    call.store.delete("faults", id=call.number("fault_id"))


@api.get("/log")
def log(call: Call) -> list[Row]:
    """The newest `limit` (default 1000) requests, oldest first; no header or body is kept."""
    _guard(call)
    limit = call.params.integer("limit", 1000)
    return call.store.query("SELECT * FROM requests ORDER BY id DESC LIMIT ?", limit)[::-1]


@api.post("/clock")
def clock(call: Call) -> Row:
    """Advance the instance's clock by `advance_s` seconds, and drop what is stuck by then."""
    _guard(call)
    step = call.params.integer("advance_s", required=True) or 0
    call.params.check()
    call.instance.clock.offset_s += step
    call.store.set_meta("clock_offset_s", call.instance.clock.offset_s)
    return {"now": call.instance.clock.stamp(), "dropped_jobs": workers.drop_stuck_jobs(call.instance)}


@api.post("/users")
def add_person(call: Call) -> Row:
    """Make a user with an access token; `scopes` (default all) and, as {path: level}, `members`."""
    _guard(call)
    username, scopes = call.params.need("username"), call.params.strings("scopes") or list(ALL_SCOPES)
    expires_at = call.params.text("expires_at")
    members: Any = call.params.raw("members", {})
    call.params.check()
    with call.store.transaction():
        known = call.store.one("users", username=username)
        user_id = known["id"] if known else add_user(call.instance, username, username.capitalize())
        _, token = add_token(call.instance, user_id, "test", scopes, expires_at=expires_at)
        for path, level in members.items():
            _join(call, user_id, str(path), str(level))
    return {"id": user_id, "username": username, "token": token}


def _join(call: Call, user_id: int, path: str, level: str) -> None:
    for kind in ("project", "group"):
        if row := call.store.one(f"{kind}s", full_path=path):
            where = {"source_type": kind, "source_id": row["id"], "user_id": user_id}
            call.store.delete("members", **where)
            call.store.insert(
                "members", **where, access_level=LEVELS[level], created_at=call.instance.clock.stamp()
            )
            return
    raise ApiError(400, {"error": f"members: there is no group or project {path!r}"})


@api.post("/projects")
def seed_project(call: Call) -> Row:
    """Make a project at `path` (group/…/name) and its groups, with files of `folder` or `files` on `branch`.

    A project that exists gets the files as a new commit when they differ.
    `pipeline: false` keeps hooks and CI quiet.
    """
    _guard(call)
    path, branch = call.params.need("path"), call.params.text("branch", "main") or "main"
    folder, files = call.params.text("folder"), call.params.raw("files", {})
    call.params.check()
    changes = _changes(folder, files)
    group_path, _, name = path.rpartition("/")
    root = call.store.one("users", username="root") or {}
    visibility = call.params.text("visibility", "private")
    project = call.store.one("projects", full_path=path)
    if project is None:
        group = _ensure_group(call, group_path) if group_path else None
        project = projects.add(call.instance, group, root, name, default_branch=branch, visibility=visibility)
    if changes:
        _commit(call, project, branch, changes, root)
    return shown(call.instance, project) | {
        "pipelines": [row["id"] for row in call.store.find("pipelines", project_id=project["id"])]
    }


def _changes(folder: str | None, files: Any) -> list[Change]:
    changes = [Change(str(path), str(text).encode()) for path, text in files.items()]
    if folder and not Path(folder).is_dir():
        raise ApiError(400, {"error": f"folder: {folder} is not a folder"})
    return changes + (projects.folder_changes(Path(folder)) if folder else [])


def _commit(call: Call, project: Row, branch: str, changes: list[Change], root: Row) -> None:
    git, message = call.instance.repositories, call.params.text("message", "Initial commit") or ""
    start = git.resolve(project["id"], branch)
    if start and all(git.file(project["id"], start, change.path) == change.content for change in changes):
        return
    git.add_commit(project["id"], branch, changes, message, (root["name"], root["email"]), start)
    if call.params.boolean("pipeline") is False:
        accept_refs(call.instance, project)
    else:
        after_push(call.instance, project, root)


def _ensure_group(call: Call, full_path: str) -> Row:
    known = call.store.one("groups", full_path=full_path)
    if known:
        return known
    parent_path, _, name = full_path.rpartition("/")
    parent = _ensure_group(call, parent_path) if parent_path else None
    group_id = call.store.insert(
        "groups", parent_id=parent["id"] if parent else None, name=name, path=name, full_path=full_path,
        created_at=call.instance.clock.stamp(),
    )  # fmt: skip
    return call.store.get("groups", group_id)


@api.post("/jobs/{job_id}/finish")
def finish_job(call: Call) -> Row:
    """End a running or pending job from outside, with `status` and `failure_reason`."""
    _guard(call)
    status = call.params.choice("status", ("success", "failed", "canceled"), required=True) or ""
    call.params.check()
    job = call.store.one("jobs", id=call.number("job_id"))
    if job is None:
        raise ApiError(404, {"message": "404 Not found"})
    jobs.finish(call.instance, job, status, call.params.text("failure_reason"))
    return {"id": job["id"], "status": call.store.get("jobs", job["id"])["status"]}
