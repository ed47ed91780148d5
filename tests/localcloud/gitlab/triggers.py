"""What a push or a change of a merge request sets off: webhooks and pipelines."""

from localcloud.gitlab import hooks, pipelines
from localcloud.gitlab.git import BLANK_SHA
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.pipelines import NotCreated, Wish
from localcloud.gitlab.store import Row


def after_push(instance: Instance, project: Row, user: Row) -> list[Row]:
    """Find the refs that changed since the last call, tell the hooks, and start pipelines for them."""
    store = instance.store
    known = {row["name"]: row["sha"] for row in store.find("refs", project_id=project["id"])}
    current = instance.repositories.refs(project["id"])
    made: list[Row] = []
    for name in sorted(known.keys() | current.keys()):
        before, after = known.get(name, BLANK_SHA), current.get(name, BLANK_SHA)
        if before != after:
            _record(instance, project, name, after)
            made += _ref_changed(instance, project, user, name, before, after)
    return made


def accept_refs(instance: Instance, project: Row) -> None:
    """Take the repository's refs as known, without hooks or pipelines."""
    for name, sha in instance.repositories.refs(project["id"]).items():
        _record(instance, project, name, sha)


def recover(instance: Instance) -> None:
    """Catch up on pushes that were stored by git but not handled before the process ended."""
    root = instance.store.one("users", username="root")
    for project in instance.store.find("projects"):
        if root:
            after_push(instance, project, root)


def _record(instance: Instance, project: Row, name: str, sha: str) -> None:
    store = instance.store
    if sha == BLANK_SHA:
        store.delete("refs", project_id=project["id"], name=name)
    elif row := store.one("refs", project_id=project["id"], name=name):
        store.update("refs", row["id"], sha=sha)
    else:
        store.insert("refs", project_id=project["id"], name=name, sha=sha)
    store.update("projects", project["id"], last_activity_at=instance.clock.stamp())


def _ref_changed(
    instance: Instance, project: Row, user: Row, name: str, before: str, after: str
) -> list[Row]:
    hooks.push_event(instance, project, user, name, before, after)
    if after == BLANK_SHA:
        return []
    tag = name.startswith("refs/tags/")
    ref = name.split("/", 2)[2]
    wish = Wish(ref=ref, sha=after, source="push", user_id=user["id"], tag=tag, before_sha=before)
    made = _try(instance, project, wish)
    if not tag:
        made += _update_merge_requests(instance, project, user, ref, after)
    return made


def _update_merge_requests(instance: Instance, project: Row, user: Row, branch: str, sha: str) -> list[Row]:
    made: list[Row] = []
    for row in instance.store.find(
        "merge_requests", project_id=project["id"], source_branch=branch, state="opened"
    ):
        old = row["sha"]
        instance.store.update("merge_requests", row["id"], sha=sha, updated_at=instance.clock.stamp())
        made += merge_request_changed(instance, project, user, row["id"], "update", old_sha=old)
    return made


def merge_request_changed(
    instance: Instance,
    project: Row,
    user: Row,
    merge_request_id: int,
    action: str,
    old_sha: str | None = None,
) -> list[Row]:
    """Tell the hooks about a merge request, and start its pipeline where there is something new to test."""
    row = instance.store.get("merge_requests", merge_request_id)
    hooks.merge_request_event(instance, project, user, row, action, old_sha)
    if row["state"] != "opened" or not row["sha"] or (action == "update" and old_sha is None):
        return []
    instance.repositories.write_ref(project["id"], f"refs/merge-requests/{row['iid']}/head", row["sha"])
    return _try(instance, project, merge_request_wish(row, user))


def merge_request_wish(row: Row, user: Row) -> Wish:
    """The pipeline of a merge request."""
    return Wish(
        ref=f"refs/merge-requests/{row['iid']}/head", sha=row["sha"], source="merge_request_event",
        user_id=user["id"],
        merge_request=row,
    )  # fmt: skip


def _try(instance: Instance, project: Row, wish: Wish) -> list[Row]:
    try:
        return [pipelines.create(instance, project, wish, keep_faulty=wish.merge_request is None)]
    except NotCreated:
        return []
