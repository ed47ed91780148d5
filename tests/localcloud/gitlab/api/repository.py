"""Repositories: files, tree, branches, tags, commits, commit statuses."""

import base64
import binascii
from typing import Any

from starlette.responses import Response

from localcloud.gitlab import present, processing
from localcloud.gitlab.access import DEVELOPER, MAINTAINER, level_in_project
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.errors import not_found, refused
from localcloud.gitlab.git import BLANK_SHA, Change, Commit, GitError
from localcloud.gitlab.instance import Instance, project_url
from localcloud.gitlab.store import Row
from localcloud.gitlab.triggers import after_push
from localcloud.gitlab.variables import is_protected

api = Api()
READ_REPOSITORY = ("read_repository",)
STATES = ("pending", "running", "success", "failed", "canceled", "skipped")


def _commit(call: Call, project: Row, ref: str) -> Commit:
    found = call.instance.repositories.commit(project["id"], ref)
    if found is None:
        raise not_found("Commit")
    return found


def _file(call: Call, project: Row, ref: str) -> tuple[Commit, bytes]:
    commit = _commit(call, project, ref)
    content = call.instance.repositories.file(project["id"], commit.sha, call.piece("path"))
    if content is None:
        raise not_found("File")
    return commit, content


@api.get("/projects/{id}/repository/files/{path}/raw", scopes=READ_REPOSITORY)
def raw_file(call: Call) -> Response:
    """A file's bytes."""
    project = call.project()
    _, content = _file(call, project, call.params.text("ref") or project["default_branch"])
    return Response(content, media_type="text/plain")


@api.get("/projects/{id}/repository/files/{path}", scopes=READ_REPOSITORY)
def show_file(call: Call) -> Row:
    """A file with its facts, base64 encoded."""
    project, ref = call.project(), call.params.need("ref")
    call.params.check()
    commit, content = _file(call, project, ref)
    last = call.instance.repositories.commits(project["id"], commit.sha, 1, call.piece("path"))
    return {
        "file_name": call.piece("path").rpartition("/")[2], "file_path": call.piece("path"),
        "size": len(content),
        "encoding": "base64", "content": base64.b64encode(content).decode(), "ref": ref,
        "commit_id": commit.sha,
        "last_commit_id": last[0].sha if last else commit.sha, "execute_filemode": False,
    }  # fmt: skip


def _write_file(call: Call, action: str) -> Row:
    project, path, branch = call.project(DEVELOPER), call.piece("path"), call.params.need("branch")
    message = call.params.need("commit_message")
    text = call.params.text("content", required=action != "delete") or ""
    call.params.check()
    content = None if action == "delete" else _decoded(text, call.params.text("encoding"))
    _check_action(call, project, branch, path, action)
    _save(call, project, branch, [Change(path, content)], message)
    return {"file_path": path, "branch": branch}


def _check_action(call: Call, project: Row, branch: str, path: str, action: str) -> None:
    exists = call.instance.repositories.file(project["id"], branch, path) is not None
    if action == "create" and exists:
        raise refused(400, "A file with this name already exists")
    if action in {"update", "delete"} and not exists:
        raise refused(400, "A file with this name doesn't exist")


@api.post("/projects/{id}/repository/files/{path}")
def create_file(call: Call) -> Row:
    """Add a file in one commit."""
    return _write_file(call, "create")


@api.put("/projects/{id}/repository/files/{path}")
def update_file(call: Call) -> Row:
    """Change a file in one commit."""
    return _write_file(call, "update")


@api.delete("/projects/{id}/repository/files/{path}")
def delete_file(call: Call) -> None:
    """Delete a file in one commit."""
    _write_file(call, "delete")


@api.get("/projects/{id}/repository/tree", scopes=READ_REPOSITORY)
def tree(call: Call) -> Any:
    """Files and folders at a path."""
    project = call.project()
    commit = _commit(call, project, call.params.text("ref") or project["default_branch"])
    prefix = (call.params.text("path") or "").strip("/")
    flags = ["-r", "-t"] if call.params.boolean("recursive") else []
    text = call.instance.repositories.text(
        project["id"], "ls-tree", "-z", *flags, commit.sha, *([f"{prefix}/"] if prefix else [])
    )
    rows: list[Row] = []
    for line in text.split("\0"):
        if line:
            facts, path = line.split("\t", 1)
            mode, kind, sha = facts.split()
            rows.append(
                {"id": sha, "name": path.rpartition("/")[2], "type": kind, "path": path, "mode": mode}
            )
    return paged(call, rows, lambda row: row)


def _save(
    call: Call, project: Row, branch: str, changes: list[Change], message: str, start: str | None = None
) -> str:
    """Commit on a branch as the caller, and do what follows a push."""
    instance = call.instance
    level = level_in_project(instance, call.user, project)
    parent = instance.repositories.resolve(project["id"], branch) or start
    if parent and level < MAINTAINER and is_protected(instance, project["id"], branch):
        raise refused(403, "You are not allowed to push into this branch")
    author = (
        call.params.text("author_name") or call.user["name"],
        call.params.text("author_email") or call.user["email"],
    )
    try:
        sha = instance.repositories.add_commit(project["id"], branch, changes, message, author, parent)
    except GitError as error:
        raise refused(400, str(error)) from None
    after_push(instance, project, call.user)
    return sha


def _decoded(text: str, encoding: str | None) -> bytes:
    if encoding != "base64":
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise refused(400, "content is not valid base64") from None


@api.get("/projects/{id}/repository/commits", scopes=READ_REPOSITORY)
def commits(call: Call) -> Any:
    """Commits of a ref, newest first, at most 1000."""
    project = call.project()
    start = _commit(call, project, call.params.text("ref_name") or project["default_branch"])
    found = call.instance.repositories.commits(project["id"], start.sha, 1000, call.params.text("path") or "")
    return paged(call, [present.commit(call.instance, project, item) for item in found], lambda row: row)


@api.post("/projects/{id}/repository/commits")
def commit(call: Call) -> Row:
    """Commit several `actions` (create, update, delete, move) at once."""
    project, params = call.project(DEVELOPER), call.params
    branch, message = params.need("branch"), params.need("commit_message")
    actions = params.objects("actions", "file_path")
    params.check()
    start_ref = params.text("start_branch") or params.text("start_sha")
    start = call.instance.repositories.resolve(project["id"], start_ref) if start_ref else None
    changes = [change for item in actions for change in _changes(call, project, start_ref or branch, item)]
    sha = _save(call, project, branch, changes, message, start)
    return present.commit(call.instance, project, _commit(call, project, sha))


def _changes(call: Call, project: Row, ref: str, item: Row) -> list[Change]:
    path, action = str(item["file_path"]), str(item.get("action"))
    if action not in {"create", "update", "delete", "move", "chmod"}:
        raise refused(400, f"Unknown action '{action}'")
    _check_action(
        call, project, ref, str(item.get("previous_path", path)) if action == "move" else path, action
    )
    if action == "delete":
        return [Change(path, None)]
    old_path = str(item.get("previous_path", path))
    old = call.instance.repositories.file(project["id"], ref, old_path)
    content = _decoded(str(item["content"]), item.get("encoding")) if "content" in item else old or b""
    change = Change(path, content, executable=bool(item.get("execute_filemode")))
    return [Change(old_path, None), change] if action == "move" else [change]


@api.get("/projects/{id}/repository/commits/{sha}", scopes=READ_REPOSITORY)
def show_commit(call: Call) -> Row:
    """One commit with the state of its last pipeline."""
    project = call.project()
    item = _commit(call, project, call.piece("sha"))
    found = call.store.find("pipelines", project_id=project["id"], sha=item.sha)
    last = present.pipeline_brief(call.instance, project, found[-1]) if found else None
    more = {
        "status": found[-1]["status"] if found else None,
        "last_pipeline": last,
        "project_id": project["id"],
    }
    return present.commit(call.instance, project, item) | more


def branch_shown(instance: Instance, project: Row, name: str, item: Commit) -> Row:
    """A branch."""
    protected = is_protected(instance, project["id"], name)
    return {
        "name": name, "commit": present.commit(instance, project, item), "merged": False,
        "protected": protected,
        "developers_can_push": not protected, "developers_can_merge": not protected, "can_push": True,
        "default": name == project["default_branch"],
        "web_url": f"{project_url(instance, project)}/-/tree/{name}",
    }  # fmt: skip


def _named(call: Call, project: Row, kind: str) -> list[tuple[str, Commit]]:
    refs = call.instance.repositories.refs(project["id"])
    return [
        (name.removeprefix(kind), _commit(call, project, sha))
        for name, sha in refs.items()
        if name.startswith(kind)
    ]


@api.get("/projects/{id}/repository/branches", scopes=READ_REPOSITORY)
def branches(call: Call) -> Any:
    """Branches, by `search`."""
    project, word = call.project(), call.params.text("search") or ""
    rows = [
        branch_shown(call.instance, project, name, item)
        for name, item in _named(call, project, "refs/heads/")
        if word in name
    ]
    return paged(call, rows, lambda row: row)


@api.get("/projects/{id}/repository/branches/{branch}", scopes=READ_REPOSITORY)
def branch(call: Call) -> Row:
    """One branch."""
    project = call.project()
    for name, item in _named(call, project, "refs/heads/"):
        if name == call.piece("branch"):
            return branch_shown(call.instance, project, name, item)
    raise not_found("Branch")


@api.post("/projects/{id}/repository/branches")
def create_branch(call: Call) -> Row:
    """Make a branch at `ref`."""
    project, name, ref = call.project(DEVELOPER), call.params.need("branch"), call.params.need("ref")
    call.params.check()
    sha = call.instance.repositories.resolve(project["id"], ref)
    if sha is None:
        raise refused(400, f"Invalid reference name: {ref}")
    if f"refs/heads/{name}" in call.instance.repositories.refs(project["id"]):
        raise refused(400, "Branch already exists")
    call.instance.repositories.write_ref(project["id"], f"refs/heads/{name}", sha)
    after_push(call.instance, project, call.user)
    return branch_shown(call.instance, project, name, _commit(call, project, sha))


@api.delete("/projects/{id}/repository/branches/{branch}")
def delete_branch(call: Call) -> None:
    """Delete a branch that isn't protected."""
    project, name = call.project(DEVELOPER), call.piece("branch")
    if is_protected(call.instance, project["id"], name):
        raise refused(405, "Protected branches cannot be deleted via API")
    if f"refs/heads/{name}" not in call.instance.repositories.refs(project["id"]):
        raise not_found("Branch")
    call.instance.repositories.write_ref(project["id"], f"refs/heads/{name}", BLANK_SHA)
    after_push(call.instance, project, call.user)


@api.get("/projects/{id}/repository/tags", scopes=READ_REPOSITORY)
def tags(call: Call) -> Any:
    """Tags."""
    project = call.project()
    rows = [_tag(call, project, name, item) for name, item in _named(call, project, "refs/tags/")]
    return paged(call, rows, lambda row: row)


@api.post("/projects/{id}/repository/tags")
def create_tag(call: Call) -> Row:
    """Make a tag at `ref`."""
    project, name, ref = call.project(DEVELOPER), call.params.need("tag_name"), call.params.need("ref")
    call.params.check()
    sha = call.instance.repositories.resolve(project["id"], ref)
    if sha is None:
        raise refused(400, f"Target {ref} is invalid")
    call.instance.repositories.write_ref(project["id"], f"refs/tags/{name}", sha)
    after_push(call.instance, project, call.user)
    return _tag(call, project, name, _commit(call, project, sha))


def _tag(call: Call, project: Row, name: str, item: Commit) -> Row:
    shown = present.commit(call.instance, project, item)
    return {
        "name": name,
        "message": "",
        "target": item.sha,
        "commit": shown,
        "release": None,
        "protected": False,
    }


@api.get("/projects/{id}/repository/commits/{sha}/statuses")
def statuses(call: Call) -> Any:
    """Statuses set on a commit from outside."""
    project = call.project()
    rows = call.store.find(
        "statuses", project_id=project["id"], sha=_commit(call, project, call.piece("sha")).sha
    )
    return paged(call, rows, lambda row: _status(call, row))


@api.post("/projects/{id}/statuses/{sha}")
def set_status(call: Call) -> Row:
    """Set a named status on a commit."""
    project, params = call.project(DEVELOPER), call.params
    state = params.choice("state", STATES, required=True)
    name = params.text("name") or params.text("context") or "default"
    fields = {key: params.text(key) for key in ("target_url", "description")}
    params.check()
    sha = _commit(call, project, call.piece("sha")).sha
    where = {"project_id": project["id"], "sha": sha, "ref": params.text("ref"), "name": name}
    now = call.instance.clock.stamp()
    values = fields | {"status": state, "finished_at": now if state in processing.COMPLETE else None}
    old = call.store.one("statuses", **where)
    if old:
        call.store.update("statuses", old["id"], **values)
    status_id = (
        old["id"]
        if old
        else call.store.insert("statuses", **where, **values, author_id=call.user["id"], created_at=now)
    )
    return _status(call, call.store.get("statuses", status_id))


def _status(call: Call, row: Row) -> Row:
    keys = (
        "id",
        "sha",
        "ref",
        "status",
        "name",
        "target_url",
        "description",
        "created_at",
        "started_at",
        "finished_at",
        "coverage",
    )
    shown = {key: row[key] for key in keys}
    return shown | {
        "allow_failure": False,
        "pipeline_id": row["pipeline_id"],
        "author": present.user_by_id(call.instance, row["author_id"]),
    }
