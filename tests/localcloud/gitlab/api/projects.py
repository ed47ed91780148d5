"""Projects, and CI variables of projects and groups."""

import re
from typing import Any

from localcloud.gitlab import access, present, projects
from localcloud.gitlab.access import MAINTAINER, OWNER
from localcloud.gitlab.api.core import Api, Call, paged
from localcloud.gitlab.api.groups import checked_path
from localcloud.gitlab.errors import invalid, not_found
from localcloud.gitlab.git import Change
from localcloud.gitlab.store import Row
from localcloud.gitlab.triggers import after_push

api = Api()
SETTINGS = {
    name: type(value)
    for name, value in present.PROJECT_DEFAULTS.items()
    if isinstance(value, bool | int | str)
}
KEY = re.compile(r"\w{1,255}", re.ASCII)


def _settings(call: Call) -> Row:
    read: dict[type, Any] = {
        bool: call.params.boolean, int: call.params.integer, str: call.params.text,
    }  # fmt: skip
    return {name: read[kind](name) for name, kind in SETTINGS.items() if name in call.params}


@api.get("/projects")
def index(call: Call) -> Any:
    """Projects the caller may see, by `search`, `membership` or `owned`."""
    user, word = call.visitor(), (call.params.text("search") or "").lower()
    least = 1 if call.params.boolean("membership") else OWNER if call.params.boolean("owned") else 0
    rows = [
        (row, access.level_in_project(call.instance, user, row))
        for row in reversed(call.store.find("projects"))
        if word in row["full_path"].lower()
    ]
    seen = [row for row, level in rows if level >= least and access.can_see(user, level, row["visibility"])]
    return paged(call, seen, lambda row: present.project(call.instance, row))


@api.post("/projects")
def create(call: Call) -> Row:
    """Create a project in `namespace_id` or in the caller's own namespace."""
    user, params = call.user, call.params
    name = params.text("name") or params.text("path")
    if not name:
        params.problems.append("name, path are missing, at least one parameter must be provided")
    visibility = params.choice("visibility", present.VISIBILITY_LEVELS, "private")
    namespace_id, settings = params.integer("namespace_id"), _settings(call)
    params.check()
    path = checked_path(params.text("path") or re.sub(r"[^\w.-]+", "-", (name or "").lower()))
    group = (
        access.group_for(call.instance, user, str(namespace_id), access.DEVELOPER) if namespace_id else None
    )
    space = group["full_path"] if group else user["username"]
    if call.store.one("projects", full_path=f"{space}/{path}"):
        raise invalid(name=["has already been taken"], path=["has already been taken"])
    project = projects.add(
        call.instance, group, user, path, name=name, visibility=visibility, settings=settings,
        description=params.text("description"), default_branch=params.text("default_branch"),
    )  # fmt: skip
    if params.boolean("initialize_with_readme"):
        readme = [Change("README.md", f"# {name}\n".encode())]
        author = (user["name"], user["email"])
        call.instance.repositories.add_commit(
            project["id"], project["default_branch"], readme, "Initial commit", author, None
        )
        after_push(call.instance, project, user)
    return present.project(call.instance, project)


@api.get("/projects/{id}")
def show(call: Call) -> Row:
    """One project by id or URL-encoded path."""
    project = call.project()
    empty = not call.store.find("refs", project_id=project["id"])
    permissions = {"project_access": None, "group_access": None}
    return present.project(call.instance, project) | {"empty_repo": empty, "permissions": permissions}


@api.put("/projects/{id}")
def update(call: Call) -> Row:
    """Change a project."""
    project, params = call.project(MAINTAINER), call.params
    visibility = params.choice("visibility", present.VISIBILITY_LEVELS)
    values = {key: params.text(key) for key in ("name", "description", "default_branch") if key in params}
    settings = _settings(call)
    params.check()
    if visibility:
        values["visibility"] = visibility
    call.store.update("projects", project["id"], **values, settings=project["settings"] | settings)
    return present.project(call.instance, call.store.get("projects", project["id"]))


@api.delete("/projects/{id}")
def remove(call: Call) -> Row:
    """Delete a project; only its owner may."""
    projects.remove(call.instance, call.project(OWNER))
    return {"message": "202 Accepted"}


def _owner(call: Call, kind: str) -> Row:
    return call.group(OWNER) if kind == "group" else call.project(MAINTAINER)


def _values(call: Call, *, new: bool) -> Row:
    params = call.params
    texts = {"key": params.need("key")} if new else {}
    if "value" in params or new:
        texts["value"] = params.need("value")
    texts |= {
        name: text for name in ("environment_scope", "description") if (text := params.text(name)) is not None
    }
    kind = params.choice("variable_type", ("env_var", "file"))
    flags = {
        name: flag for name in ("protected", "masked", "raw") if (flag := params.boolean(name)) is not None
    }
    if params.boolean("masked_and_hidden"):
        flags |= {"masked": True, "hidden": True}
    params.check()
    if new and not KEY.fullmatch(texts["key"]):
        raise invalid(key=["can contain only letters, digits and '_'."])
    if flags.get("masked") and not re.fullmatch(r"\S{8,}", texts.get("value", "x" * 8)):
        raise invalid(value=["is invalid"])
    return texts | flags | ({"variable_type": kind} if kind else {})


def _shown(row: Row) -> Row:
    shown = {key: value for key, value in row.items() if key not in {"id", "owner_type", "owner_id"}}
    return shown | {"value": None} if row["hidden"] else shown


def _declare_variables(kind: str) -> None:
    base = f"/{kind}s/{{id}}/variables"

    def find(call: Call) -> Row:
        row = call.store.one(
            "variables", owner_type=kind, owner_id=_owner(call, kind)["id"], key=call.piece("key")
        )
        if row is None:
            raise not_found("Variable")
        return row

    @api.get(base)
    def _list(call: Call) -> Any:
        return paged(
            call, call.store.find("variables", owner_type=kind, owner_id=_owner(call, kind)["id"]), _shown
        )

    @api.post(base)
    def _create(call: Call) -> Row:
        owner, values = _owner(call, kind), _values(call, new=True)
        where = {"owner_type": kind, "owner_id": owner["id"]}
        scope = values.get("environment_scope", "*")
        if call.store.one("variables", key=values["key"], environment_scope=scope, **where):
            raise invalid(key=[f"({values['key']}) has already been taken"])
        return _shown(call.store.get("variables", call.store.insert("variables", **where, **values)))

    @api.get(f"{base}/{{key}}")
    def _show(call: Call) -> Row:
        return _shown(find(call))

    @api.put(f"{base}/{{key}}")
    def _update(call: Call) -> Row:
        row = find(call)
        call.store.update("variables", row["id"], **_values(call, new=False))
        return _shown(call.store.get("variables", row["id"]))

    @api.delete(f"{base}/{{key}}")
    def _delete(call: Call) -> None:
        call.store.delete("variables", id=find(call)["id"])


_declare_variables("project")
_declare_variables("group")


@api.get("/projects/{id}/protected_branches")
def protected(call: Call) -> Any:
    """Protected branches."""
    return paged(
        call, call.store.find("protected_branches", project_id=call.project(MAINTAINER)["id"]), _branch
    )


@api.get("/projects/{id}/protected_branches/{name}")
def protected_one(call: Call) -> Row:
    """One protected branch or wildcard."""
    row = call.store.one(
        "protected_branches", project_id=call.project(MAINTAINER)["id"], name=call.piece("name")
    )
    if row is None:
        raise not_found()
    return _branch(row)


@api.post("/projects/{id}/protected_branches")
def protect(call: Call) -> Row:
    """Protect a branch or wildcard."""
    project, name = call.project(MAINTAINER), call.params.need("name")
    levels = {key: call.params.integer(f"{key}_access_level", MAINTAINER) for key in ("push", "merge")}
    force = bool(call.params.boolean("allow_force_push"))
    call.params.check()
    if call.store.one("protected_branches", project_id=project["id"], name=name):
        raise invalid(name=["has already been taken"])
    row_id = call.store.insert(
        "protected_branches", project_id=project["id"], name=name, push_level=levels["push"],
        merge_level=levels["merge"], allow_force_push=force,
    )  # fmt: skip
    return _branch(call.store.get("protected_branches", row_id))


@api.delete("/projects/{id}/protected_branches/{name}")
def unprotect(call: Call) -> None:
    """Remove a protection."""
    project = call.project(MAINTAINER)
    if not call.store.delete("protected_branches", project_id=project["id"], name=call.piece("name")):
        raise not_found()


def _branch(row: Row) -> Row:
    def level(number: int) -> list[Row]:
        names = {0: "No one", 30: "Developers + Maintainers", 40: "Maintainers"}
        return [
            {
                "id": row["id"],
                "access_level": number,
                "access_level_description": names.get(number, str(number)),
            }
        ]

    return {
        "id": row["id"], "name": row["name"], "push_access_levels": level(row["push_level"]),
        "merge_access_levels": level(row["merge_level"]), "allow_force_push": row["allow_force_push"],
        "unprotect_access_levels": [], "code_owner_approval_required": False, "inherited": False,
    }  # fmt: skip
