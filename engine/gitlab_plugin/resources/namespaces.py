"""`Project` and `Group`."""

import time
from collections.abc import Callable
from typing import Any, ClassVar, Final

from gitlab_plugin.api import Api
from gitlab_plugin.errors import ApiError, PluginError
from gitlab_plugin.resources import project_fields
from gitlab_plugin.resources.base import ResourceType, Values

_REMOVAL_LIMIT_S: Final = 300.0
_POLL_S: Final = 0.5


class _Namespace(ResourceType):
    """Projects and groups: named, archived or removed in the background."""

    autonamed = True
    permanent: ClassVar[str]
    """Local property that asks for removal without the waiting period."""

    def delete(self, api: Api, resource_id: str, state: Values) -> None:
        """Archive or remove, then wait until GitLab shows it gone or marked for deletion."""
        if state.get("archiveOnDestroy"):
            api.post(f"{self.item_path(resource_id)}/archive", {})
            return
        api.delete(self.item_path(resource_id))
        answer = _removed(lambda: self._answer(api, resource_id), self.gone)
        if answer and state.get(self.permanent):
            api.delete(
                self.item_path(resource_id), permanently_remove="true", full_path=self.full_path(answer)
            )

    def full_path(self, answer: Values) -> str:
        """Path that confirms a permanent removal."""
        return str(answer.get("full_path") or answer.get("path_with_namespace"))

    def _answer(self, api: Api, resource_id: str) -> Values | None:
        try:
            return api.get(self.item_path(resource_id))
        except ApiError as error:
            if error.status == 404:
                return None
            raise


class Project(_Namespace):
    """A project."""

    token = "gitlab:index/project:Project"  # noqa: S105 - a type token
    fields = project_fields.FIELDS
    not_served = project_fields.NOT_SERVED
    collection = "/projects"
    item = "/projects/{id}"
    permanent = "permanentlyDeleteOnDestroy"

    def observed(self, answer: Values, resource_id: str) -> dict[str, Any]:
        """The namespace is nested in the answer."""
        values = super().observed(answer, resource_id)
        if answer.get("namespace"):
            values["namespaceId"] = int(answer["namespace"]["id"])
        return values

    def update(self, api: Api, resource_id: str, inputs: Values, changed: set[str]) -> None:
        """A change of namespace is a transfer, a call of its own."""
        if "namespaceId" in changed:
            api.put(f"{self.item_path(resource_id)}/transfer", {"namespace": inputs["namespaceId"]})
        super().update(api, resource_id, inputs, changed - {"namespaceId"})

    def twins(self, api: Api, inputs: Values) -> dict[str, Values]:
        """Projects of the same name (and namespace, where one is given) that the token may see."""
        wanted = inputs.get("path") or inputs["name"]
        listed = api.find("/projects", search=wanted, membership="true")
        return {str(p["id"]): p for p in listed if wanted in {p["path"], p["name"]} and _within(p, inputs)}


class Group(_Namespace):
    """A group, top-level or nested."""

    token = "gitlab:index/group:Group"  # noqa: S105 - a type token
    fields = project_fields.GROUP_FIELDS
    not_served = project_fields.GROUP_NOT_SERVED
    collection = "/groups"
    item = "/groups/{id}"
    permanent = "permanentlyRemoveOnDelete"

    def twins(self, api: Api, inputs: Values) -> dict[str, Values]:
        """The group of the same path below the same parent."""
        listed = api.find("/groups", search=inputs["path"])
        parent = inputs.get("parentId")
        return {
            str(g["id"]): g for g in listed if g["path"] == inputs["path"] and g.get("parent_id") == parent
        }


def _within(project: Values, inputs: Values) -> bool:
    wanted = inputs.get("namespaceId")
    return wanted is None or project.get("namespace", {}).get("id") == wanted


def _removed(answer: Callable[[], Values | None], gone: Callable[[Values], bool]) -> Values | None:
    """The last answer before removal took hold, or None when the object is away."""
    until = time.monotonic() + _REMOVAL_LIMIT_S
    while (found := answer()) is not None and not gone(found):
        if time.monotonic() > until:
            raise PluginError(
                f"GitLab still shows {found.get('web_url')} {_REMOVAL_LIMIT_S:.0f} s after its removal. "
                "Run again; if it stays, look at the background jobs of the instance."
            )
        time.sleep(_POLL_S)
    return found
