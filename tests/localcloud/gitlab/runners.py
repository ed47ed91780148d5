"""Runners and their managers: creation rules, contact, and how they are shown."""

import secrets

from localcloud.gitlab.clock import parse_time
from localcloud.gitlab.errors import bad_request, forbidden
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

TYPES = ("instance_type", "group_type", "project_type")
ACCESS_LEVELS = ("not_protected", "ref_protected")
ONLINE_S, STALE_S = 2 * 3600, 7 * 86_400
MIN_TIMEOUT_S, MAX_NOTE, MAX_DESCRIPTION = 600, 1024, 1024


def new_token() -> str:
    """An authentication token of a runner made by a user."""
    return f"glrt-{secrets.token_urlsafe(15)}"


def check(values: Row) -> None:
    """Refuse values that no runner may have, all named."""
    problems: list[str] = []
    if not values["run_untagged"] and not values["tag_list"]:
        problems.append("Tags list can not be empty when runner is not allowed to pick untagged jobs")
    timeout = values.get("maximum_timeout")
    if timeout is not None and timeout < MIN_TIMEOUT_S:
        problems.append("Maximum timeout needs to be at least 10 minutes")
    if len(values.get("maintenance_note") or "") > MAX_NOTE:
        problems.append(f"Maintenance note is too long (maximum is {MAX_NOTE} characters)")
    if len(values.get("description") or "") > MAX_DESCRIPTION:
        problems.append(f"Description is too long (maximum is {MAX_DESCRIPTION} characters)")
    if len(values["tag_list"]) > 50:
        problems.append("Tags list can have at most 50 tags")
    if problems:
        raise bad_request(_sentence(problems))


def _sentence(parts: list[str]) -> str:
    return (
        parts[0]
        if len(parts) == 1
        else ", ".join(parts[:-1]) + (", and " if len(parts) > 2 else " and ") + parts[-1]
    )


def by_token(instance: Instance, token: str) -> Row:
    """The runner with this authentication token; refuses unknown and expired ones."""
    row = instance.store.one("runners", token=token) if token else None
    if row is None or (
        row["token_expires_at"] and parse_time(row["token_expires_at"]) <= instance.clock.now()
    ):
        raise forbidden()
    return row


def heartbeat(instance: Instance, runner: Row, system_id: str | None, info: Row, address: str) -> Row | None:
    """Note that a runner manager called, and give the manager when it named its system."""
    now = instance.clock.stamp()
    instance.store.update("runners", runner["id"], contacted_at=now)
    if not system_id:
        return None
    known = instance.store.one("managers", runner_id=runner["id"], system_id=system_id)
    values: Row = {
        name: info[name]
        for name in ("version", "revision", "platform", "architecture", "executor")
        if info.get(name)
    }
    values |= {name: info[name] for name in ("features", "config") if isinstance(info.get(name), dict)}
    values |= {"contacted_at": now, "ip_address": address}
    if known:
        instance.store.update("managers", known["id"], **values)
        return instance.store.get("managers", known["id"])
    manager_id = instance.store.insert(
        "managers", runner_id=runner["id"], system_id=system_id, created_at=now, **values
    )
    return instance.store.get("managers", manager_id)


def status(instance: Instance, contacted_at: str | None) -> str:
    """`never_contacted`, `online`, `offline` (2 hours) or `stale` (7 days)."""
    if not contacted_at:
        return "never_contacted"
    silent = (instance.clock.now() - parse_time(contacted_at)).total_seconds()
    return "online" if silent < ONLINE_S else "offline" if silent < STALE_S else "stale"


def brief(instance: Instance, row: Row) -> Row:
    """A runner in a list."""
    managers = instance.store.find("managers", runner_id=row["id"])
    state = status(instance, row["contacted_at"])
    busy = instance.store.query(
        "SELECT 1 AS x FROM jobs WHERE runner_id = ? AND status IN ('running', 'canceling')", row["id"]
    )
    return {
        "id": row["id"], "description": row["description"],
        "ip_address": managers[-1]["ip_address"] if managers else "",
        "active": not row["paused"], "paused": row["paused"],
        "is_shared": row["runner_type"] == "instance_type",
        "runner_type": row["runner_type"], "name": "gitlab-runner" if managers else None,
        "online": state == "online",
        "created_at": row["created_at"], "status": state,
        "job_execution_status": "active" if busy else "idle",
        "created_by": None,
    }  # fmt: skip


def detail(instance: Instance, row: Row) -> Row:
    """A runner by itself."""
    managers = instance.store.find("managers", runner_id=row["id"])
    last = managers[-1] if managers else {}
    sql = (
        "SELECT p.* FROM projects p JOIN runner_projects r ON r.project_id = p.id "
        "WHERE r.runner_id = ? ORDER BY p.id"
    )
    projects = [
        {"id": item["id"], "name": item["name"], "name_with_namespace": item["full_path"].replace("/", " / "),
         "path": item["path"], "path_with_namespace": item["full_path"]}
        for item in instance.store.query(sql, row["id"])
    ]  # fmt: skip
    group = instance.store.one("groups", id=row["group_id"]) if row["group_id"] else None
    groups = (
        [
            {
                "id": group["id"],
                "name": group["name"],
                "web_url": f"{instance.settings.url}/groups/{group['full_path']}",
            }
        ]
        if group
        else []
    )
    return brief(instance, row) | {
        "tag_list": row["tag_list"], "run_untagged": row["run_untagged"], "locked": row["locked"],
        "maximum_timeout": row["maximum_timeout"], "access_level": row["access_level"],
        **{name: last.get(name) for name in ("version", "revision", "platform", "architecture")},
        "contacted_at": row["contacted_at"], "maintenance_note": row["maintenance_note"],
        "projects": projects,
        "groups": groups,
    }  # fmt: skip


def manager(instance: Instance, row: Row) -> Row:
    """One manager (machine) of a runner."""
    busy = instance.store.query(
        "SELECT 1 AS x FROM jobs WHERE manager_id = ? AND status IN ('running', 'canceling')", row["id"]
    )
    shown = {
        name: row[name]
        for name in (
            "id",
            "system_id",
            "version",
            "revision",
            "platform",
            "architecture",
            "created_at",
            "contacted_at",
            "ip_address",
        )
    }
    return shown | {
        "status": status(instance, row["contacted_at"]),
        "job_execution_status": "active" if busy else "idle",
    }
