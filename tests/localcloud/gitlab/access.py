"""Who is calling and what they may do: tokens, scopes and membership levels."""

from localcloud.gitlab.clock import parse_time
from localcloud.gitlab.errors import forbidden, insufficient_scope, invalid_token, not_found, unauthorized
from localcloud.gitlab.instance import Instance, digest
from localcloud.gitlab.store import Row

GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = 10, 20, 30, 40, 50


def user_of_token(instance: Instance, token: str, scopes: tuple[str, ...]) -> Row:
    """The user of an access token that has one of `scopes`; refuses anything else as GitLab does."""
    row = instance.store.one("tokens", digest=digest(token))
    if row is None:
        raise unauthorized()
    if row["revoked"]:
        raise invalid_token("Token was revoked. You have to re-authorize from the user.")
    if row["expires_at"] and parse_time(row["expires_at"]) <= instance.clock.now():
        raise invalid_token("Token is expired. You can either do re-authorization or token refresh.")
    if not set(scopes) & set(row["scopes"]):
        raise insufficient_scope(scopes)
    instance.store.update("tokens", row["id"], last_used_at=instance.clock.stamp())
    user = instance.store.get("users", row["user_id"])
    if user["state"] != "active":
        raise forbidden("Your account has been blocked.")
    return user


def user_of_job(instance: Instance, token: str) -> Row | None:
    """The user for whom a running job's token acts."""
    job = instance.store.one("jobs", token=token) if token else None
    if job is None or job["status"] != "running" or job["user_id"] is None:
        return None
    return instance.store.get("users", job["user_id"])


def level_in_group(instance: Instance, user: Row | None, group_id: int | None) -> int:
    """The user's highest level in a group or its ancestors; 0 for none."""
    if user is None:
        return 0
    if user["admin"]:
        return OWNER
    best = 0
    while group_id is not None:
        best = max(best, _direct(instance, "group", group_id, user["id"]))
        group_id = instance.store.get("groups", group_id)["parent_id"]
    return best


def level_in_project(instance: Instance, user: Row | None, project: Row) -> int:
    """The user's highest level in a project, membership of its groups included; 0 for none."""
    inherited = level_in_group(instance, user, project["group_id"])
    if user is None or inherited == OWNER:
        return inherited
    own = OWNER if project["user_id"] == user["id"] else 0
    return max(inherited, own, _direct(instance, "project", project["id"], user["id"]))


def can_see(user: Row | None, level: int, visibility: str) -> bool:
    """Whether a thing of this visibility is visible to a user with this level."""
    return bool(level) or visibility == "public" or (visibility == "internal" and user is not None)


def project_for(instance: Instance, user: Row | None, key: str, level: int = 0) -> Row:
    """A project by id or full path, seen by a user who has at least `level` in it."""
    column = {"id": int(key)} if key.isdecimal() else {"full_path": key}
    project = instance.store.one("projects", **column)
    have = level_in_project(instance, user, project) if project else 0
    if project is None or not can_see(user, have, project["visibility"]):
        raise not_found("Project")
    if have < level:
        raise forbidden() if user else unauthorized()
    return project


def group_for(instance: Instance, user: Row | None, key: str, level: int = 0) -> Row:
    """A group by id or full path, seen by a user who has at least `level` in it."""
    column = {"id": int(key)} if key.isdecimal() else {"full_path": key}
    group = instance.store.one("groups", **column)
    have = level_in_group(instance, user, group["id"]) if group else 0
    if group is None or not can_see(user, have, group["visibility"]):
        raise not_found("Group")
    if have < level:
        raise forbidden() if user else unauthorized()
    return group


def _direct(instance: Instance, kind: str, source_id: int, user_id: int) -> int:
    row = instance.store.one("members", source_type=kind, source_id=source_id, user_id=user_id)
    return row["access_level"] if row else 0
