"""Runner groups as stored: which repositories may use them, how they look."""

from localcloud.github.errors import not_found
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

DEFAULT_GROUP = 1
HOSTED_GROUP = 2
FIRST_OWN_GROUP = 3


def get(sim: Simulator, org: Doc, group_id: int) -> Doc:
    """One group of an organisation.

    Raises:
        ApiError: 404 where there is none.
    """
    found = sim.store.get("runner_group", f"{org['id']}:{group_id}")
    if found is None:
        raise not_found()
    return found


def of(sim: Simulator, org: Doc) -> list[Doc]:
    """All groups of an organisation."""
    return sim.store.find("runner_group", org_id=org["id"])


def serves(group: Doc, repo: Doc, workflow: str | None = None) -> bool:
    """Whether jobs of a repository, from the workflow `owner/repo/path@ref`, may run in the group."""
    if not repo["private"] and not group["allows_public_repositories"]:
        return False
    if group["visibility"] == "selected" and repo["id"] not in group["selected_repository_ids"]:
        return False
    if group["visibility"] == "private" and not repo["private"]:
        return False
    return not group["restricted_to_workflows"] or workflow in group["selected_workflows"]


def show(sim: Simulator, org: Doc, group: Doc) -> Doc:
    """The REST form."""
    url = f"{sim.api_url}/orgs/{org['login']}/actions/runner-groups/{group['id']}"
    shown = {
        "id": group["id"],
        "name": group["name"],
        "visibility": group["visibility"],
        "default": group["default"],
        "runners_url": f"{url}/runners",
        "hosted_runners_url": f"{url}/hosted-runners",
        "inherited": False,
        "allows_public_repositories": group["allows_public_repositories"],
        "restricted_to_workflows": group["restricted_to_workflows"],
        "selected_workflows": group["selected_workflows"],
        "workflow_restrictions_read_only": False,
    }
    if group["visibility"] == "selected":
        shown["selected_repositories_url"] = f"{url}/repositories"
    return shown
