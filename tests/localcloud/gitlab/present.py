"""JSON forms of users, groups, projects, branches, commits and merge requests."""

from typing import Any

from localcloud.gitlab.git import Commit
from localcloud.gitlab.instance import Instance, project_url
from localcloud.gitlab.store import Row

VISIBILITY_LEVELS = {"private": 0, "internal": 10, "public": 20}


def user(instance: Instance, row: Row | None) -> Row | None:
    """A user as others see it."""
    if row is None:
        return None
    return {
        "id": row["id"], "username": row["username"], "name": row["name"], "state": row["state"],
        "locked": False,
        "avatar_url": None, "web_url": f"{instance.settings.url}/{row['username']}",
    }  # fmt: skip


def user_by_id(instance: Instance, user_id: int | None) -> Row | None:
    """The same by id."""
    return user(instance, instance.store.one("users", id=user_id)) if user_id else None


def hook_user(row: Row | None) -> Row | None:
    """A user in a webhook payload."""
    if row is None:
        return None
    return {
        "id": row["id"], "name": row["name"], "username": row["username"], "avatar_url": None,
        "email": "[REDACTED]",
    }  # fmt: skip


def group(instance: Instance, row: Row) -> Row:
    """A group."""
    return {
        "id": row["id"], "web_url": f"{instance.settings.url}/groups/{row['full_path']}", "name": row["name"],
        "path": row["path"], "description": row["description"], "visibility": row["visibility"],
        "full_name": row["full_path"].replace("/", " / "), "full_path": row["full_path"],
        "parent_id": row["parent_id"], "created_at": row["created_at"], "share_with_group_lock": False,
        "require_two_factor_authentication": False, "two_factor_grace_period": 48,
        "project_creation_level": "developer",
        "auto_devops_enabled": None, "subgroup_creation_level": "maintainer", "emails_disabled": False,
        "emails_enabled": True, "mentions_disabled": None, "lfs_enabled": True, "default_branch": None,
        "default_branch_protection": 2, "request_access_enabled": True, "avatar_url": None,
        "organization_id": 1,
        "shared_runners_setting": "enabled", "prevent_forking_outside_group": None, "shared_with_groups": [],
        "membership_lock": False, "ip_restriction_ranges": None, "wiki_access_level": "enabled",
    }  # fmt: skip


def namespace(instance: Instance, project_row: Row) -> Row:
    """The namespace of a project."""
    owner = instance.store.one("groups", id=project_row["group_id"]) if project_row["group_id"] else None
    if owner:
        return {
            "id": owner["id"], "name": owner["name"], "path": owner["path"], "kind": "group",
            "full_path": owner["full_path"],
            "parent_id": owner["parent_id"], "avatar_url": None,
            "web_url": f"{instance.settings.url}/groups/{owner['full_path']}",
        }  # fmt: skip
    person = instance.store.get("users", project_row["user_id"])
    return {
        "id": 1_000_000 + person["id"], "name": person["name"], "path": person["username"], "kind": "user",
        "full_path": person["username"], "parent_id": None, "avatar_url": None,
        "web_url": f"{instance.settings.url}/{person['username']}",
    }  # fmt: skip


PROJECT_DEFAULTS: Row = {
    "archived": False, "empty_repo": False, "issues_enabled": True, "merge_requests_enabled": True,
    "wiki_enabled": True,
    "jobs_enabled": True, "snippets_enabled": True, "container_registry_enabled": False,
    "shared_runners_enabled": True,
    "group_runners_enabled": True, "lfs_enabled": False, "packages_enabled": False,
    "request_access_enabled": True,
    "only_allow_merge_if_pipeline_succeeds": False, "only_allow_merge_if_all_discussions_are_resolved": False,
    "allow_merge_on_skipped_pipeline": None, "remove_source_branch_after_merge": True,
    "merge_method": "merge",
    "squash_option": "default_off", "build_timeout": 3600, "build_git_strategy": "fetch",
    "ci_config_path": "",
    "ci_default_git_depth": 20, "ci_forward_deployment_enabled": True,
    "auto_cancel_pending_pipelines": "enabled",
    "public_jobs": True, "keep_latest_artifact": True, "topics": [], "import_status": "none",
    "import_url": None,
    "forks_count": 0, "star_count": 0, "open_issues_count": 0, "avatar_url": None, "shared_with_groups": [],
    "builds_access_level": "enabled", "repository_access_level": "enabled",
    "merge_requests_access_level": "enabled",
    "issues_access_level": "enabled", "can_create_merge_request_in": True, "mirror": False,
    "printing_merge_request_link_enabled": True,
    "autoclose_referenced_issues": True, "emails_enabled": True, "runner_token_expiration_interval": None,
}  # fmt: skip


def project(instance: Instance, row: Row) -> Row:
    """A project."""
    url = project_url(instance, row)
    api = f"{instance.settings.url}/api/v4/projects/{row['id']}"
    space = namespace(instance, row)
    settings: Row = row["settings"]
    return PROJECT_DEFAULTS | {
        "id": row["id"], "description": row["description"], "name": row["name"], "path": row["path"],
        "name_with_namespace": f"{space['name']} / {row['name']}", "path_with_namespace": row["full_path"],
        "created_at": row["created_at"], "default_branch": row["default_branch"], "tag_list": list[str](),
        "ssh_url_to_repo": f"git@{instance.settings.host}:{row['full_path']}.git",
        "http_url_to_repo": f"{url}.git",
        "web_url": url, "readme_url": f"{url}/-/blob/{row['default_branch']}/README.md", "namespace": space,
        "visibility": row["visibility"], "last_activity_at": row["last_activity_at"],
        "creator_id": row["user_id"] or 1,
        "runners_token": None,
        "_links": {"self": api, "merge_requests": f"{api}/merge_requests", "members": f"{api}/members"},
    } | settings  # fmt: skip


def hook_project(instance: Instance, row: Row) -> Row:
    """A project in a webhook payload."""
    url = project_url(instance, row)
    ssh = f"git@{instance.settings.host}:{row['full_path']}.git"
    return {
        "id": row["id"], "name": row["name"], "description": row["description"], "web_url": url,
        "avatar_url": None,
        "git_ssh_url": ssh, "git_http_url": f"{url}.git", "namespace": namespace(instance, row)["name"],
        "visibility_level": VISIBILITY_LEVELS[row["visibility"]], "path_with_namespace": row["full_path"],
        "default_branch": row["default_branch"], "ci_config_path": row["settings"].get("ci_config_path", ""),
    }  # fmt: skip


def commit(instance: Instance, project_row: Row, item: Commit) -> Row:
    """A commit."""
    return {
        "id": item.sha, "short_id": item.sha[:8], "created_at": item.committed_date,
        "parent_ids": list(item.parents),
        "title": item.title, "message": item.message, "author_name": item.author_name,
        "author_email": item.author_email,
        "authored_date": item.authored_date, "committer_name": item.committer_name,
        "committer_email": item.committer_email, "committed_date": item.committed_date, "trailers": {},
        "extended_trailers": {}, "web_url": f"{project_url(instance, project_row)}/-/commit/{item.sha}",
    }  # fmt: skip


def hook_commit(instance: Instance, project_row: Row, item: Commit) -> Row:
    """A commit in a webhook payload."""
    return {
        "id": item.sha, "message": item.message, "title": item.title, "timestamp": item.committed_date,
        "url": f"{project_url(instance, project_row)}/-/commit/{item.sha}",
        "author": {"name": item.author_name, "email": item.author_email},
    }  # fmt: skip


def merge_request(instance: Instance, project_row: Row, row: Row) -> dict[str, Any]:
    """A merge request."""
    pipelines = instance.store.query(
        "SELECT * FROM pipelines WHERE merge_request_id = ? OR (project_id = ? AND sha = ? AND ref = ?) "
        "ORDER BY id DESC LIMIT 1",
        row["id"], row["project_id"], row["sha"], row["source_branch"],
    )  # fmt: skip
    head = pipeline_brief(instance, project_row, pipelines[0]) if pipelines else None
    return {
        "id": row["id"], "iid": row["iid"], "project_id": row["project_id"], "title": row["title"],
        "description": row["description"], "state": row["state"], "created_at": row["created_at"],
        "updated_at": row["updated_at"], "merged_at": row["merged_at"], "closed_at": row["closed_at"],
        "target_branch": row["target_branch"], "source_branch": row["source_branch"], "user_notes_count":
        len(instance.store.find("notes", merge_request_id=row["id"])), "upvotes": 0, "downvotes": 0,
        "author": user_by_id(instance, row["author_id"]), "assignees": [], "assignee": None, "reviewers": [],
        "source_project_id": row["project_id"], "target_project_id": row["project_id"],
        "labels": row["labels"],
        "draft": row["title"].startswith("Draft:"), "work_in_progress": row["title"].startswith("Draft:"),
        "milestone": None, "merge_when_pipeline_succeeds": False, "merge_status": "can_be_merged",
        "detailed_merge_status": "mergeable" if row["state"] == "opened" else "not_open", "sha": row["sha"],
        "merge_commit_sha": row["merge_commit_sha"], "squash_commit_sha": None, "discussion_locked": None,
        "should_remove_source_branch": None, "force_remove_source_branch": False,
        "reference": f"!{row['iid']}",
        "references": {
            "short": f"!{row['iid']}", "relative": f"!{row['iid']}",
            "full": f"{project_row['full_path']}!{row['iid']}",
        },
        "web_url": f"{project_url(instance, project_row)}/-/merge_requests/{row['iid']}", "squash": False,
        "has_conflicts": False, "blocking_discussions_resolved": True, "pipeline": head,
        "head_pipeline": head,
    }  # fmt: skip


def pipeline_brief(instance: Instance, project_row: Row, row: Row) -> Row:
    """A pipeline inside another answer or a list."""
    return {
        "id": row["id"], "iid": row["iid"], "project_id": row["project_id"], "sha": row["sha"],
        "ref": row["ref"],
        "status": row["status"], "source": row["source"], "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "web_url": f"{project_url(instance, project_row)}/-/pipelines/{row['id']}", "name": row["name"],
    }  # fmt: skip


def note(instance: Instance, row: Row, iid: int) -> Row:
    """A comment on a merge request."""
    return {
        "id": row["id"], "type": None, "body": row["body"], "attachment": None, "system": False,
        "author": user_by_id(instance, row["author_id"]), "created_at": row["created_at"],
        "updated_at": row["updated_at"], "noteable_id": row["merge_request_id"],
        "noteable_type": "MergeRequest",
        "project_id": row["project_id"], "resolvable": False, "confidential": False, "internal": False,
        "noteable_iid": iid, "commands_changes": {},
    }  # fmt: skip
