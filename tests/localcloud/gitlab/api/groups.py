"""Groups, and members of groups and projects."""

import re
from typing import Any

from localcloud.gitlab import access, present
from localcloud.gitlab.access import OWNER
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.errors import forbidden, invalid, not_found, refused
from localcloud.gitlab.store import Row

api = Api()
PATH = re.compile(r"[A-Za-z0-9_][\w.-]*")


def checked_path(path: str) -> str:
    """A path piece that GitLab accepts."""
    if not PATH.fullmatch(path) or path.endswith((".git", ".atom", ".")):
        text = (
            "can only include non-accented letters, digits, '_', '-' and '.'. "
            "It must not start with '-', '.' or end in '.'."
        )
        raise invalid(path=[text])
    return path


@api.get("/groups")
def groups(call: Call) -> Any:
    """Groups the caller may see, by `search`."""
    user, word = call.visitor(), (call.params.text("search") or "").lower()
    rows = [
        row
        for row in call.store.find("groups")
        if access.can_see(user, access.level_in_group(call.instance, user, row["id"]), row["visibility"])
        and word in row["full_path"].lower()
    ]
    return paged(call, rows, lambda row: present.group(call.instance, row))


@api.post("/groups")
def create(call: Call) -> Row:
    """Create a group; a subgroup needs the owner of its parent."""
    user, params = call.user, call.params
    name, path, parent_id = params.need("name"), params.need("path"), params.integer("parent_id")
    visibility = params.choice("visibility", present.VISIBILITY_LEVELS, "private")
    params.check()
    parent = access.group_for(call.instance, user, str(parent_id), OWNER) if parent_id else None
    full = f"{parent['full_path']}/{checked_path(path)}" if parent else checked_path(path)
    if call.store.one("groups", full_path=full) or call.store.one("projects", full_path=full):
        raise refused(400, 'Failed to save group {:path=>["has already been taken"]}')
    now = call.instance.clock.stamp()
    group_id = call.store.insert(
        "groups", parent_id=parent_id, name=name, path=path, full_path=full, visibility=visibility,
        description=params.text("description") or "", created_at=now,
    )  # fmt: skip
    call.store.insert(
        "members",
        source_type="group",
        source_id=group_id,
        user_id=user["id"],
        access_level=OWNER,
        created_at=now,
    )
    return present.group(call.instance, call.store.get("groups", group_id))


@api.get("/groups/{id}")
def show(call: Call) -> Row:
    """One group, with its projects."""
    group = call.group()
    rows = call.store.find("projects", group_id=group["id"])
    more = {
        "projects": [present.project(call.instance, row) for row in rows],
        "shared_projects": [],
        "runners_token": None,
    }
    return present.group(call.instance, group) | more


@api.put("/groups/{id}")
def update(call: Call) -> Row:
    """Change a group's name, description or visibility."""
    group, params = call.group(OWNER), call.params
    values = {key: params.text(key) for key in ("name", "description", "visibility") if key in params}
    call.store.update("groups", group["id"], **values)
    return present.group(call.instance, call.store.get("groups", group["id"]))


@api.delete("/groups/{id}")
def remove(call: Call) -> Row:
    """Delete a group with all that is in it."""
    group = call.group(OWNER)
    inside = call.store.query("SELECT id FROM projects WHERE full_path LIKE ?", f"{group['full_path']}/%")
    call.store.delete("groups", id=group["id"])
    for row in inside:
        call.instance.repositories.delete(row["id"])
    return {"message": "202 Accepted"}


@api.get("/groups/{id}/projects")
def projects(call: Call) -> Any:
    """Projects directly in a group, or also in its subgroups with `include_subgroups`."""
    group, user = call.group(), call.visitor()
    deep = call.params.boolean("include_subgroups")
    rows = [
        row
        for row in call.store.find("projects")
        if (row["full_path"].startswith(f"{group['full_path']}/") if deep else row["group_id"] == group["id"])
        and access.can_see(user, access.level_in_project(call.instance, user, row), row["visibility"])
    ]
    return paged(call, rows, lambda row: present.project(call.instance, row))


@api.get("/groups/{id}/subgroups")
def subgroups(call: Call) -> Any:
    """Groups directly below a group."""
    rows = call.store.find("groups", parent_id=call.group()["id"])
    return paged(call, rows, lambda row: present.group(call.instance, row))


def _source(call: Call, kind: str, level: int = 0) -> Row:
    return call.group(level) if kind == "group" else call.project(level)


def _member(call: Call, row: Row) -> Row:
    person = present.user_by_id(call.instance, row["user_id"]) or {}
    return person | {"access_level": row["access_level"], "created_at": row["created_at"], "expires_at": None}


def _declare_members(kind: str) -> None:
    @api.get(f"/{kind}s/{{id}}/members")
    def _list(call: Call) -> Any:
        rows = call.store.find("members", source_type=kind, source_id=_source(call, kind)["id"])
        return paged(call, rows, lambda row: _member(call, row))

    @api.post(f"/{kind}s/{{id}}/members")
    def _add(call: Call) -> Row:
        source = _source(call, kind, OWNER if kind == "group" else access.MAINTAINER)
        user_id, level = (
            call.params.integer("user_id", required=True),
            call.params.integer("access_level", required=True),
        )
        call.params.check()
        if call.store.one("users", id=user_id) is None:
            raise not_found("User")
        if call.store.one("members", source_type=kind, source_id=source["id"], user_id=user_id):
            raise refused(409, "Member already exists")
        if level not in {10, 15, 20, 30, 40, 50}:
            raise invalid(access_level=["is not included in the list"])
        row_id = call.store.insert(
            "members", source_type=kind, source_id=source["id"], user_id=user_id, access_level=level,
            created_at=call.instance.clock.stamp(),
        )  # fmt: skip
        return _member(call, call.store.get("members", row_id))

    @api.delete(f"/{kind}s/{{id}}/members/{{user_id}}")
    def _remove(call: Call) -> None:
        source = _source(call, kind, access.MAINTAINER)
        if not call.user:
            raise forbidden()
        if not call.store.delete(
            "members", source_type=kind, source_id=source["id"], user_id=call.number("user_id")
        ):
            raise not_found("Member")


_declare_members("group")
_declare_members("project")
