"""Which pending jobs a runner may take."""

from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row
from localcloud.gitlab.variables import is_protected


def tags_match(runner: Row, tags: list[str]) -> bool:
    """A runner needs every tag of the job, in the same case; a job without tags needs `run_untagged`."""
    return set(tags) <= set(runner["tag_list"]) if tags else bool(runner["run_untagged"])


def serves_project(instance: Instance, runner: Row, project: Row) -> bool:
    """Whether a runner's type and assignment cover a project."""
    settings = project["settings"]
    if runner["runner_type"] == "instance_type":
        return bool(settings.get("shared_runners_enabled", True))
    if runner["runner_type"] == "group_type":
        return bool(settings.get("group_runners_enabled", True)) and _in_group(
            instance, project, runner["group_id"]
        )
    assigned = instance.store.one("runner_projects", runner_id=runner["id"], project_id=project["id"])
    return assigned is not None


def can_take(instance: Instance, runner: Row, job: Row) -> bool:
    """Whether this runner may run this job."""
    if runner["paused"] or not tags_match(runner, job["tag_list"]):
        return False
    project = instance.store.get("projects", job["project_id"])
    if not serves_project(instance, runner, project):
        return False
    if runner["access_level"] == "not_protected":
        return True
    pipeline = instance.store.get("pipelines", job["pipeline_id"])
    return is_protected(instance, project["id"], pipeline["ref"])


def next_job(instance: Instance, runner: Row) -> Row | None:
    """The oldest pending job for this runner."""
    pending = instance.store.query("SELECT * FROM jobs WHERE status = 'pending' ORDER BY id")
    return next((job for job in pending if can_take(instance, runner, job)), None)


def candidates(instance: Instance, job: Row) -> list[Row]:
    """All runners that may run a job; none means that it is stuck."""
    return [runner for runner in instance.store.find("runners") if can_take(instance, runner, job)]


def _in_group(instance: Instance, project: Row, group_id: int) -> bool:
    current = project["group_id"]
    while current is not None:
        if current == group_id:
            return True
        current = instance.store.get("groups", current)["parent_id"]
    return False
