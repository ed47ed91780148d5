"""Runners as their owners see them: create, list, change, delete, reset the token, managers and jobs."""

from email.utils import parsedate_to_datetime
from typing import Any

from localcloud.gitlab import access, processing, runners
from localcloud.gitlab.access import MAINTAINER, OWNER
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.api.jobs import shown as job_shown
from localcloud.gitlab.clock import parse_time
from localcloud.gitlab.errors import ApiError, bad_request, forbidden, not_found
from localcloud.gitlab.matching import serves_project
from localcloud.gitlab.store import Row

api = Api()
MANAGE = ("manage_runner",)


@api.post("/user/runners", scopes=("create_runner",))
def create(call: Call) -> Row:
    """Create a runner for the instance, a group or a project, and give its authentication token."""
    user, params = call.user, call.params
    kind = params.choice("runner_type", runners.TYPES, required=True)
    group_id = params.integer("group_id", required=kind == "group_type")
    project_id = params.integer("project_id", required=kind == "project_type")
    values = _fields(call) | {"tag_list": params.strings("tag_list") or []}
    params.check()
    values = {"run_untagged": True, "description": ""} | values
    if kind == "instance_type" and not user["admin"]:
        raise forbidden("Insufficient permissions")
    group = _scope(call, "groups", group_id) if kind == "group_type" else None
    project = _scope(call, "projects", project_id) if kind == "project_type" else None
    runners.check(values)
    token = runners.new_token()
    with call.store.transaction():
        runner_id = call.store.insert(
            "runners", runner_type=kind, token=token, group_id=group["id"] if group else None,
            creator_id=user["id"],
            created_at=call.instance.clock.stamp(), **values,
        )  # fmt: skip
        if project:
            call.store.insert("runner_projects", runner_id=runner_id, project_id=project["id"])
    return {"id": runner_id, "token": token, "token_expires_at": None}


def _fields(call: Call) -> Row:
    """The fields of a runner that were sent."""
    params = call.params
    level = params.choice("access_level", runners.ACCESS_LEVELS)
    found: Row = {name: params.text(name) for name in ("description", "maintenance_note") if name in params}
    found |= {name: params.boolean(name) for name in ("paused", "locked", "run_untagged") if name in params}
    if "maximum_timeout" in params:
        found["maximum_timeout"] = params.integer("maximum_timeout")
    return found | ({"access_level": level} if level else {})


def _scope(call: Call, table: str, row_id: int | None) -> Row:
    row = call.store.one(table, id=row_id)
    if row is None:
        raise bad_request(f"Missing/invalid scope: no {table.removesuffix('s')} has the id {row_id}")
    level = (
        access.level_in_group(call.instance, call.user, row["id"])
        if table == "groups"
        else access.level_in_project(call.instance, call.user, row)
    )
    if level < (OWNER if table == "groups" else MAINTAINER):
        raise forbidden("Insufficient permissions")
    return row


def may_manage(call: Call, runner: Row) -> bool:
    """Administrators always; otherwise owners of its group or maintainers of one of its projects."""
    if call.user["admin"]:
        return True
    if runner["runner_type"] == "group_type":
        return access.level_in_group(call.instance, call.user, runner["group_id"]) >= OWNER
    rows = call.store.query(
        "SELECT p.* FROM projects p JOIN runner_projects r ON r.project_id = p.id WHERE r.runner_id = ?",
        runner["id"],
    )
    return any(access.level_in_project(call.instance, call.user, row) >= MAINTAINER for row in rows)


def _runner(call: Call) -> Row:
    row = call.store.one("runners", id=call.number("runner_id"))
    _ = call.user
    if row is None:
        raise not_found("Runner")
    if not may_manage(call, row):
        raise forbidden("No access granted")
    return row


def _listed(call: Call, rows: list[Row]) -> Any:
    params = call.params
    kind, state = params.choice("type", runners.TYPES), params.text("status")
    paused, tags, version = (
        params.boolean("paused"),
        params.strings("tag_list") or [],
        params.text("version_prefix"),
    )
    params.check()
    shown = [runners.detail(call.instance, row) for row in rows]
    kept = [
        row
        for row in shown
        if (kind in {None, row["runner_type"]})
        and (
            state in {None, "", row["status"]}
            or (state == "active" and not row["paused"])
            or (state == "paused" and row["paused"])
        )
        and (paused is None or row["paused"] is paused)
        and set(tags) <= set(row["tag_list"])
        and (version is None or str(row["version"]).startswith(version))
    ]
    brief = set(runners.brief(call.instance, rows[0])) if rows else set[str]()
    return paged(call, kept, lambda row: {key: value for key, value in row.items() if key in brief})


@api.get("/runners", scopes=MANAGE)
def index(call: Call) -> Any:
    """Runners that the caller may manage; shared ones are only in `/runners/all`."""
    _ = call.user
    rows = [
        row
        for row in call.store.find("runners")
        if row["runner_type"] != "instance_type" and may_manage(call, row)
    ]
    return _listed(call, rows)


@api.get("/runners/all", scopes=MANAGE)
def everything(call: Call) -> Any:
    """All runners of the instance; for administrators."""
    if not call.user["admin"]:
        raise forbidden()
    return _listed(call, call.store.find("runners"))


@api.get("/projects/{id}/runners", scopes=MANAGE)
def of_project(call: Call) -> Any:
    """Runners that a project can use."""
    project = call.project(MAINTAINER)
    return _listed(
        call, [row for row in call.store.find("runners") if serves_project(call.instance, row, project)]
    )


@api.post("/projects/{id}/runners")
def enable(call: Call) -> Row:
    """Assign a project runner to another project, unless it is locked."""
    project, runner_id = call.project(MAINTAINER), call.params.integer("runner_id", required=True)
    call.params.check()
    row = call.store.one("runners", id=runner_id)
    if row is None:
        raise not_found("Runner")
    if row["runner_type"] != "project_type" or row["locked"] or not may_manage(call, row):
        raise forbidden("Runner is locked" if row["locked"] else "No access granted")
    if call.store.one("runner_projects", runner_id=row["id"], project_id=project["id"]):
        raise ApiError(400, {"message": {"runner": ["has already been taken"]}})
    call.store.insert("runner_projects", runner_id=row["id"], project_id=project["id"])
    return runners.brief(call.instance, row)


@api.delete("/projects/{id}/runners/{runner_id}")
def disable(call: Call) -> None:
    """Take a project runner from a project; not from its only one."""
    project = call.project(MAINTAINER)
    row = call.store.one("runners", id=call.number("runner_id"))
    if row is None or not call.store.one("runner_projects", runner_id=row["id"], project_id=project["id"]):
        raise not_found("Runner")
    if len(call.store.find("runner_projects", runner_id=row["id"])) == 1:
        raise forbidden("Only one project associated with the runner. Please remove the runner instead")
    call.store.delete("runner_projects", runner_id=row["id"], project_id=project["id"])


@api.get("/groups/{id}/runners", scopes=MANAGE)
def of_group(call: Call) -> Any:
    """Runners of a group, its ancestors and the instance."""
    group, ids = call.group(OWNER), set[int]()
    current: int | None = group["id"]
    while current is not None:
        ids.add(current)
        current = call.store.get("groups", current)["parent_id"]
    return _listed(
        call,
        [
            row
            for row in call.store.find("runners")
            if row["group_id"] in ids or row["runner_type"] == "instance_type"
        ],
    )


@api.get("/runners/{runner_id}", scopes=MANAGE)
def show(call: Call) -> Row:
    """One runner."""
    return runners.detail(call.instance, _runner(call))


@api.put("/runners/{runner_id}", scopes=MANAGE)
def update(call: Call) -> Row:
    """Change a runner."""
    row, values = _runner(call), _fields(call)
    tags, active = call.params.strings("tag_list"), call.params.boolean("active")
    call.params.check()
    if tags is not None:
        values["tag_list"] = tags
    if active is not None:
        values["paused"] = not active
    runners.check(row | values)
    call.store.update("runners", row["id"], **values)
    processing.wake_runners(call.instance)
    return runners.detail(call.instance, call.store.get("runners", row["id"]))


@api.delete("/runners/{runner_id}", scopes=MANAGE)
def remove(call: Call) -> None:
    """Delete a runner; refused while several projects use it, or changed since `If-Unmodified-Since`."""
    row = _runner(call)
    if len(call.store.find("runner_projects", runner_id=row["id"])) > 1:
        raise forbidden("Runner associated with more than one project")
    if since := call.request.headers.get("if-unmodified-since"):
        _check_unmodified(row, since)
    call.store.delete("runners", id=row["id"])


def _check_unmodified(row: Row, since: str) -> None:
    if parse_time(row["contacted_at"] or row["created_at"]).replace(microsecond=0) > parsedate_to_datetime(
        since
    ):
        raise ApiError(412, {"message": "412 Precondition Failed"})


@api.post("/runners/{runner_id}/reset_authentication_token", scopes=MANAGE)
def reset_token(call: Call) -> Row:
    """Give the runner a new token; the old one stops working at once."""
    row, token = _runner(call), runners.new_token()
    call.store.update("runners", row["id"], token=token)
    return {"token": token, "token_expires_at": row["token_expires_at"]}


@api.get("/runners/{runner_id}/managers", scopes=MANAGE)
def managers(call: Call) -> Any:
    """The machines that use this runner's token."""
    row = _runner(call)
    found = sorted(call.store.find("managers", runner_id=row["id"]), key=lambda item: -item["id"])
    return paged(call, found, lambda item: runners.manager(call.instance, item))


@api.get("/runners/{runner_id}/jobs", scopes=MANAGE)
def jobs(call: Call) -> Any:
    """Jobs that this runner took, newest first; of one machine with `system_id`."""
    row, system_id, state = _runner(call), call.params.text("system_id"), call.params.text("status")
    found = call.store.find("jobs", runner_id=row["id"])
    if system_id:
        manager = call.store.one("managers", runner_id=row["id"], system_id=system_id) or {"id": 0}
        found = [job for job in found if job["manager_id"] == manager["id"]]
    kept = [job for job in reversed(found) if state in {None, job["status"]}]
    return paged(call, kept, lambda job: job_shown(call.instance, job))
