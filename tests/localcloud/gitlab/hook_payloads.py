"""Bodies of webhooks, field by field as GitLab builds them. A job's tags are in none of them."""

from typing import Any

from localcloud.gitlab import present
from localcloud.gitlab.clock import hook_time, seconds_between, whole_seconds
from localcloud.gitlab.git import BLANK_SHA
from localcloud.gitlab.instance import Instance, project_url
from localcloud.gitlab.store import Row


def job(instance: Instance, row: Row, retries: int) -> dict[str, Any]:
    """A Job Hook (`object_kind` build)."""
    store = instance.store
    project, pipeline = store.get("projects", row["project_id"]), store.get("pipelines", row["pipeline_id"])
    times = {
        f"build_{name}": convert(row[name[: name.index("_at") + 3]])
        for convert, names in (
            (hook_time, ("created_at", "started_at", "finished_at")),
            (whole_seconds, ("created_at_iso", "started_at_iso", "finished_at_iso")),
        )
        for name in names
    }
    return {
        "object_kind": "build", "ref": pipeline["ref"], "tag": pipeline["tag"],
        "before_sha": pipeline["before_sha"],
        "sha": pipeline["sha"], "retries_count": retries, "build_id": row["id"], "build_name": row["name"],
        "build_stage": row["stage"], "build_status": row["status"], **times,
        "build_duration": seconds_between(row["started_at"], row["finished_at"]),
        "build_queued_duration": queued_duration(instance, row), "build_allow_failure": row["allow_failure"],
        "build_failure_reason": row["failure_reason"] or "unknown_failure", "pipeline_id": pipeline["id"],
        "runner": runner(instance, row["runner_id"]), "project_id": project["id"],
        "project_name": _full_name(instance, project),
        "user": present.hook_user(store.one("users", id=row["user_id"])),
        "commit": _pipeline_as_commit(instance, project, pipeline),
        "repository": _repository(instance, project), "project": present.hook_project(instance, project),
        "environment": _environment(row),
    }  # fmt: skip


def queued_duration(instance: Instance, row: Row) -> float | None:
    """Seconds a job waited or has been waiting for a runner."""
    return seconds_between(
        row["queued_at"], row["started_at"] or (instance.clock.stamp() if row["queued_at"] else None)
    )


def runner(instance: Instance, runner_id: int | None) -> Row | None:
    """The runner that took a job; null before."""
    row = instance.store.one("runners", id=runner_id) if runner_id else None
    if row is None:
        return None
    return {
        "id": row["id"], "description": row["description"], "runner_type": row["runner_type"],
        "active": not row["paused"],
        "is_shared": row["runner_type"] == "instance_type", "tags": row["tag_list"],
    }  # fmt: skip


def pipeline(instance: Instance, row: Row) -> dict[str, Any]:
    """A Pipeline Hook."""
    store = instance.store
    project = store.get("projects", row["project_id"])
    commit = instance.repositories.commit(project["id"], row["sha"])
    jobs = store.find("jobs", pipeline_id=row["id"], retried=False)
    merge_request = (
        store.one("merge_requests", id=row["merge_request_id"]) if row["merge_request_id"] else None
    )
    return {
        "object_kind": "pipeline", "object_attributes": _pipeline_attributes(instance, project, row),
        "merge_request": _merge_request_brief(instance, project, merge_request) if merge_request else None,
        "user": present.hook_user(store.one("users", id=row["user_id"])),
        "project": present.hook_project(instance, project),
        "commit": present.hook_commit(instance, project, commit) if commit else None,
        "builds": [_pipeline_job(instance, item) for item in jobs],
    }  # fmt: skip


def _pipeline_attributes(instance: Instance, project: Row, row: Row) -> Row:
    return {
        "id": row["id"], "iid": row["iid"], "name": row["name"], "ref": row["ref"], "tag": row["tag"],
        "sha": row["sha"],
        "before_sha": row["before_sha"], "source": row["source"], "status": row["status"],
        "detailed_status": {"success": "passed"}.get(row["status"], row["status"]), "stages": row["stages"],
        "created_at": hook_time(row["created_at"]), "finished_at": hook_time(row["finished_at"]),
        "duration": _whole(seconds_between(row["started_at"], row["finished_at"])),
        "queued_duration": _whole(seconds_between(row["created_at"], row["started_at"])),
        "protected_ref": False,
        "variables": [{"key": item["key"], "value": item["value"]} for item in row["variables"]],
        "url": f"{project_url(instance, project)}/-/pipelines/{row['id']}",
    }  # fmt: skip


def _pipeline_job(instance: Instance, row: Row) -> Row:
    archive = instance.store.one("artifacts", job_id=row["id"], file_type="archive")
    return {
        "id": row["id"], "stage": row["stage"], "name": row["name"], "status": row["status"],
        "created_at": hook_time(row["created_at"]), "started_at": hook_time(row["started_at"]),
        "finished_at": hook_time(row["finished_at"]),
        "duration": seconds_between(row["started_at"], row["finished_at"]),
        "queued_duration": queued_duration(instance, row),
        "failure_reason": row["failure_reason"] if row["status"] == "failed" else None,
        "when": row["run_when"],
        "manual": row["run_when"] == "manual", "allow_failure": row["allow_failure"],
        "user": present.hook_user(instance.store.one("users", id=row["user_id"])),
        "runner": runner(instance, row["runner_id"]),
        "artifacts_file": {name: archive[name] if archive else None for name in ("filename", "size")},
        "environment": _environment(row),
    }  # fmt: skip


def push(instance: Instance, project: Row, user: Row, ref: str, before: str, after: str) -> dict[str, Any]:
    """A Push Hook or Tag Push Hook; at most 20 commits are listed."""
    commits = []
    if after != BLANK_SHA and not ref.startswith("refs/tags/"):
        known = instance.repositories.resolve(project["id"], before) if before != BLANK_SHA else None
        span = f"{before}..{after}" if known else after
        commits = instance.repositories.commits(project["id"], span, 20)
    kind = "tag_push" if ref.startswith("refs/tags/") else "push"
    return {
        "object_kind": kind, "event_name": kind, "before": before, "after": after, "ref": ref,
        "ref_protected": False, "checkout_sha": None if after == BLANK_SHA else after, "message": None,
        "user_id": user["id"], "user_name": user["name"], "user_username": user["username"], "user_email": "",
        "user_avatar": None, "project_id": project["id"], "project": present.hook_project(instance, project),
        "commits": [_pushed(instance, project, item) for item in reversed(commits)],
        "total_commits_count": len(commits), "push_options": {}, "repository": _repository(instance, project),
    }  # fmt: skip


def merge_request(
    instance: Instance, project: Row, user: Row, row: Row, action: str, old_sha: str | None
) -> dict[str, Any]:
    """A Merge Request Hook; `oldrev` is set when an update brought new commits."""
    commit = instance.repositories.commit(project["id"], row["sha"]) if row["sha"] else None
    attributes: Row = _merge_request_brief(instance, project, row) | {
        "description": row["description"], "author_id": row["author_id"], "action": action, "labels": [],
        "created_at": hook_time(row["created_at"]), "updated_at": hook_time(row["updated_at"]),
        "last_commit": present.hook_commit(instance, project, commit) if commit else None,
        "source": present.hook_project(instance, project), "target": present.hook_project(instance, project),
        "merge_commit_sha": row["merge_commit_sha"], "draft": row["title"].startswith("Draft:"),
    }  # fmt: skip
    if old_sha:
        attributes["oldrev"] = old_sha
    return {
        "object_kind": "merge_request", "event_type": "merge_request", "user": present.hook_user(user),
        "project": present.hook_project(instance, project), "object_attributes": attributes, "labels": [],
        "changes": {},
        "repository": _repository(instance, project),
    }  # fmt: skip


def note(instance: Instance, project: Row, user: Row, row: Row, merge_request_row: Row) -> dict[str, Any]:
    """A Note Hook of a comment on a merge request."""
    url = f"{project_url(instance, project)}/-/merge_requests/{merge_request_row['iid']}#note_{row['id']}"
    return {
        "object_kind": "note", "event_type": "note", "user": present.hook_user(user),
        "project_id": project["id"],
        "project": present.hook_project(instance, project), "repository": _repository(instance, project),
        "object_attributes": {
            "id": row["id"], "note": row["body"], "noteable_type": "MergeRequest",
            "author_id": row["author_id"],
            "created_at": hook_time(row["created_at"]), "updated_at": hook_time(row["updated_at"]),
            "project_id": project["id"], "noteable_id": row["merge_request_id"], "system": False, "url": url,
            "action": "create" if row["created_at"] == row["updated_at"] else "update",
        },
        "merge_request": _merge_request_brief(instance, project, merge_request_row),
    }  # fmt: skip


def _pushed(instance: Instance, project: Row, item: Any) -> Row:
    return present.hook_commit(instance, project, item) | {"added": [], "modified": [], "removed": []}


def _merge_request_brief(instance: Instance, project: Row, row: Row) -> Row:
    return {
        "id": row["id"], "iid": row["iid"], "title": row["title"], "source_branch": row["source_branch"],
        "source_project_id": project["id"], "target_branch": row["target_branch"],
        "target_project_id": project["id"],
        "state": row["state"], "merge_status": "can_be_merged", "detailed_merge_status": "mergeable",
        "url": f"{project_url(instance, project)}/-/merge_requests/{row['iid']}",
    }  # fmt: skip


def _pipeline_as_commit(instance: Instance, project: Row, row: Row) -> Row:
    """The `commit` of a Job Hook, whose id is the pipeline's."""
    commit = instance.repositories.commit(project["id"], row["sha"])
    return {
        "id": row["id"], "name": row["name"], "sha": row["sha"],
        "message": commit.message if commit else None,
        "author_name": commit.author_name if commit else None,
        "author_email": commit.author_email if commit else None,
        "author_url": f"mailto:{commit.author_email}" if commit else None, "status": row["status"],
        "duration": _whole(seconds_between(row["started_at"], row["finished_at"])),
        "started_at": hook_time(row["started_at"]), "finished_at": hook_time(row["finished_at"]),
    }  # fmt: skip


def _repository(instance: Instance, project: Row) -> Row:
    url = project_url(instance, project)
    ssh = f"git@{instance.settings.host}:{project['full_path']}.git"
    return {
        "name": project["name"], "url": ssh, "description": project["description"], "homepage": url,
        "git_http_url": f"{url}.git", "git_ssh_url": ssh,
        "visibility_level": present.VISIBILITY_LEVELS[project["visibility"]],
    }  # fmt: skip


def _environment(row: Row) -> Row | None:
    environment = row["spec"]["environment"]
    if not environment:
        return None
    return {
        "name": environment.get("name"),
        "action": environment.get("action", "start"),
        "deployment_tier": None,
    }


def _full_name(instance: Instance, project: Row) -> str:
    return f"{present.namespace(instance, project)['name']} / {project['name']}"


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)
