"""Merge requests and the comments on them."""

from typing import Any

from localcloud.gitlab import hooks, present
from localcloud.gitlab.access import DEVELOPER, REPORTER
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.errors import ApiError, forbidden, invalid, not_found, refused
from localcloud.gitlab.git import GitError
from localcloud.gitlab.store import Row
from localcloud.gitlab.triggers import after_push, merge_request_changed

api = Api()
BASE = "/projects/{id}/merge_requests"


def _find(call: Call, level: int = 0) -> tuple[Row, Row]:
    project = call.project(level)
    row = call.store.one("merge_requests", project_id=project["id"], iid=call.number("iid"))
    if row is None:
        raise not_found()
    return project, row


def _shown(call: Call, project: Row, merge_request_id: int) -> Row:
    return present.merge_request(call.instance, project, call.store.get("merge_requests", merge_request_id))


@api.get(BASE)
def index(call: Call) -> Any:
    """Merge requests, newest first, by state, branches, labels or ids."""
    project, params = call.project(), call.params
    rows = call.store.find("merge_requests", project_id=project["id"])[::-1]
    for name in ("state", "source_branch", "target_branch"):
        wanted = params.text(name)
        if wanted and wanted != "all":
            rows = [row for row in rows if row[name] == wanted]
    if iids := params.strings("iids"):
        rows = [row for row in rows if str(row["iid"]) in iids]
    if word := params.text("search"):
        rows = [row for row in rows if word.lower() in f"{row['title']} {row['description']}".lower()]
    return paged(call, rows, lambda row: present.merge_request(call.instance, project, row))


@api.post(BASE)
def create(call: Call) -> Row:
    """Open a merge request."""
    project, params = call.project(DEVELOPER), call.params
    source, target, title = params.need("source_branch"), params.need("target_branch"), params.need("title")
    params.check()
    sha = call.instance.repositories.resolve(project["id"], source)
    if sha is None or source == target:
        text = (
            "You can't use same project/branch for source and target"
            if source == target
            else "does not exist"
        )
        raise invalid(**({"validate_branches": [text]} if source == target else {"source_branch": [text]}))
    open_ones = call.store.find(
        "merge_requests", project_id=project["id"], source_branch=source, target_branch=target, state="opened"
    )
    if open_ones:
        raise refused(
            409, [f"Another open merge request already exists for this source branch: !{open_ones[0]['iid']}"]
        )
    now = call.instance.clock.stamp()
    iids = call.store.query(
        "SELECT coalesce(max(iid), 0) + 1 AS next FROM merge_requests WHERE project_id = ?", project["id"]
    )
    row_id = call.store.insert(
        "merge_requests", iid=iids[0]["next"], project_id=project["id"], title=title, sha=sha,
        source_branch=source,
        target_branch=target, description=params.text("description") or "",
        labels=params.strings("labels") or [],
        author_id=call.user["id"], created_at=now, updated_at=now,
    )  # fmt: skip
    merge_request_changed(call.instance, project, call.user, row_id, "open")
    return _shown(call, project, row_id)


@api.get(BASE + "/{iid}")
def show(call: Call) -> Row:
    """One merge request."""
    project, row = _find(call)
    return present.merge_request(call.instance, project, row)


@api.put(BASE + "/{iid}")
def update(call: Call) -> Row:
    """Change the words of a merge request, close or reopen it."""
    project, row = _find(call, DEVELOPER)
    params, now = call.params, call.instance.clock.stamp()
    event = params.choice("state_event", ("close", "reopen"))
    values: Row = {
        name: params.text(name) for name in ("title", "description", "target_branch") if name in params
    }
    labels = params.strings("labels")
    params.check()
    if labels is not None:
        values["labels"] = labels
    if event:
        values |= {
            "state": "closed" if event == "close" else "opened",
            "closed_at": now if event == "close" else None,
        }
    call.store.update("merge_requests", row["id"], updated_at=now, **values)
    merge_request_changed(call.instance, project, call.user, row["id"], event or "update")
    return _shown(call, project, row["id"])


@api.put(BASE + "/{iid}/merge")
def merge(call: Call) -> Row:
    """Merge; refuses conflicts, closed ones and a `sha` that isn't the head."""
    project, row = _find(call, DEVELOPER)
    if row["state"] != "opened":
        raise ApiError(405, {"message": "405 Method Not Allowed"})
    expected = call.params.text("sha")
    if expected and expected != row["sha"]:
        raise refused(409, "SHA does not match HEAD of source branch: " + str(row["sha"]))
    message = f"Merge branch '{row['source_branch']}' into '{row['target_branch']}'\n\n{row['title']}"
    author = (call.user["name"], call.user["email"])
    try:
        sha = call.instance.repositories.merge(
            project["id"], row["target_branch"], row["sha"], message, author
        )
    except GitError:
        raise ApiError(422, {"message": "Branch cannot be merged"}) from None
    now = call.instance.clock.stamp()
    call.store.update(
        "merge_requests", row["id"], state="merged", merge_commit_sha=sha, merged_at=now, updated_at=now
    )
    merge_request_changed(call.instance, project, call.user, row["id"], "merge")
    after_push(call.instance, project, call.user)
    return _shown(call, project, row["id"])


@api.get(BASE + "/{iid}/changes")
def changes(call: Call) -> Row:
    """A merge request with its changed files."""
    project, row = _find(call)
    return present.merge_request(call.instance, project, row) | {
        "changes": _diffs(call, project, row),
        "overflow": False,
    }


@api.get(BASE + "/{iid}/diffs")
def diffs(call: Call) -> Any:
    """The changed files of a merge request."""
    project, row = _find(call)
    return paged(call, _diffs(call, project, row), lambda item: item)


def _diffs(call: Call, project: Row, row: Row) -> list[Row]:
    git, span = call.instance.repositories, f"{row['target_branch']}...{row['sha']}"
    names = [name for name in git.text(project["id"], "diff", "--name-only", "-z", span).split("\0") if name]
    return [
        {"old_path": name, "new_path": name, "new_file": False, "deleted_file": False, "renamed_file": False,
         "a_mode": "100644", "b_mode": "100644", "diff": git.text(project["id"], "diff", span, "--", name)}
        for name in names
    ]  # fmt: skip


@api.get(BASE + "/{iid}/notes")
def notes(call: Call) -> Any:
    """Comments, newest first unless `sort=asc`."""
    _, row = _find(call)
    found = call.store.find("notes", merge_request_id=row["id"])
    ordered = found if call.params.text("sort") == "asc" else found[::-1]
    return paged(call, ordered, lambda item: present.note(call.instance, item, row["iid"]))


@api.post(BASE + "/{iid}/notes")
def create_note(call: Call) -> Row:
    """Comment on a merge request."""
    project, row = _find(call, REPORTER)
    body = call.params.need("body")
    call.params.check()
    now = call.instance.clock.stamp()
    note_id = call.store.insert(
        "notes", project_id=project["id"], merge_request_id=row["id"], body=body, author_id=call.user["id"],
        created_at=now, updated_at=now,
    )  # fmt: skip
    item = call.store.get("notes", note_id)
    hooks.note_event(call.instance, project, call.user, item, row)
    return present.note(call.instance, item, row["iid"])


def _note(call: Call, *, own: bool) -> tuple[Row, Row, Row]:
    project, row = _find(call)
    item = call.store.one("notes", id=call.number("note_id"), merge_request_id=row["id"])
    if item is None:
        raise not_found("Note")
    if own and item["author_id"] != call.user["id"] and not call.user["admin"]:
        raise forbidden()
    return project, row, item


@api.get(BASE + "/{iid}/notes/{note_id}")
def show_note(call: Call) -> Row:
    """One comment."""
    _, row, item = _note(call, own=False)
    return present.note(call.instance, item, row["iid"])


@api.put(BASE + "/{iid}/notes/{note_id}")
def update_note(call: Call) -> Row:
    """Change a comment; its author may."""
    project, row, item = _note(call, own=True)
    body = call.params.need("body")
    call.params.check()
    call.store.update("notes", item["id"], body=body, updated_at=call.instance.clock.stamp())
    changed = call.store.get("notes", item["id"])
    hooks.note_event(call.instance, project, call.user, changed, row)
    return present.note(call.instance, changed, row["iid"])


@api.delete(BASE + "/{iid}/notes/{note_id}")
def delete_note(call: Call) -> None:
    """Delete a comment; its author may."""
    _, _, item = _note(call, own=True)
    call.store.delete("notes", id=item["id"])
