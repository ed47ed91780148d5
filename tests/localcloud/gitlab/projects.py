"""Making and removing projects."""

from pathlib import Path

from localcloud.gitlab.git import Change
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row


def add(instance: Instance, group: Row | None, owner: Row, path: str, **values: object) -> Row:
    """Create a project in a group, or in the owner's own namespace, with an empty repository."""
    space = group["full_path"] if group else owner["username"]
    now = instance.clock.stamp()
    columns = {"name": path, "visibility": "private", "default_branch": "main"} | {
        key: value for key, value in values.items() if value is not None
    }
    with instance.store.transaction():
        project_id = instance.store.insert(
            "projects", group_id=group["id"] if group else None, user_id=owner["id"], path=path,
            full_path=f"{space}/{path}", created_at=now, last_activity_at=now, **columns,
        )  # fmt: skip
        instance.store.insert("protected_branches", project_id=project_id, name=columns["default_branch"])
        instance.repositories.create(project_id, str(columns["default_branch"]))
    return instance.store.get("projects", project_id)


def remove(instance: Instance, project: Row) -> None:
    """Delete a project with its repository, pipelines, hooks and project runners."""
    only_here = instance.store.query(
        "SELECT r.id FROM runners r WHERE r.runner_type = 'project_type' AND NOT EXISTS "
        "(SELECT 1 FROM runner_projects p WHERE p.runner_id = r.id AND p.project_id <> ?)",
        project["id"],
    )
    with instance.store.transaction():
        instance.store.delete("hooks", owner_type="project", owner_id=project["id"])
        instance.store.delete("variables", owner_type="project", owner_id=project["id"])
        instance.store.delete("members", source_type="project", source_id=project["id"])
        for runner in only_here:
            instance.store.delete("runners", id=runner["id"])
        instance.store.delete("projects", id=project["id"])
    instance.repositories.delete(project["id"])


def folder_changes(folder: Path) -> list[Change]:
    """All files of a folder as additions, repositories inside left out."""
    return [
        Change(
            path.relative_to(folder).as_posix(),
            path.read_bytes(),
            executable=bool(path.stat().st_mode & 0o100),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    ]
