"""`gitlab:index/userRunner:UserRunner`: a runner registration with a `glrt-` token."""

from typing import Any, Final

from gitlab_plugin.api import Api, path
from gitlab_plugin.fields import Field
from gitlab_plugin.resources.base import ResourceType, Values
from gitlab_plugin.values import UNKNOWN

_OWNER: Final = {"project_type": "projectId", "group_type": "groupId"}
_LISTS: Final = {
    "project_type": "/projects/{projectId}/runners",
    "group_type": "/groups/{groupId}/runners",
    "instance_type": "/runners/all",
}


class UserRunner(ResourceType):
    """A runner of a project, a group or the instance; the token is answered once, on create."""

    token = "gitlab:index/userRunner:UserRunner"  # noqa: S105 - a type token
    fields = (
        Field(
            "runnerType", required=True, replace=True, choices=("instance_type", "group_type", "project_type")
        ),
        Field("projectId", "integer", replace=True),
        Field("groupId", "integer", replace=True),
        Field("accessLevel", choices=("not_protected", "ref_protected")),
        Field("description"),
        Field("locked", "boolean"),
        Field("maintenanceNote", max_length=1024),
        Field("maximumTimeout", "integer", minimum=600),
        Field("paused", "boolean"),
        Field("tagLists", "strings", api="tag_list"),
        Field("untagged", "boolean", api="run_untagged"),
        Field("token", secret=True, output_only=True, unread=True),
    )
    collection = "/user/runners"
    item = "/runners/{id}"

    def faults(self, inputs: Values) -> list[tuple[str, str]]:
        """The owner must match the runner type, and a runner must be able to take some job."""
        runner_type = inputs.get("runnerType")
        if runner_type is UNKNOWN:
            return []
        found = []
        for kind, owner in _OWNER.items():
            if runner_type == kind and owner not in inputs:
                found.append((owner, f"required because runnerType is {kind!r}"))
            elif runner_type != kind and inputs.get(owner) is not None:
                found.append((owner, f"only allowed with runnerType {kind!r}, which is {runner_type!r}"))
        if inputs.get("untagged") is False and not inputs.get("tagLists"):
            found.append(
                ("tagLists", "a runner without tags must take untagged jobs: give tags or untagged = true")
            )
        return found

    def observed(self, answer: Values, resource_id: str) -> dict[str, Any]:
        """Owner ids are nested in lists; `active` is the older spelling of `paused`."""
        values = super().observed(answer, resource_id)
        if "paused" not in answer and "active" in answer:
            values["paused"] = not answer["active"]
        for owners, name, kind in (
            ("projects", "projectId", "project_type"),
            ("groups", "groupId", "group_type"),
        ):
            if answer.get("runner_type") == kind and answer.get(owners):
                values[name] = int(answer[owners][0]["id"])
        return values

    def twins(self, api: Api, inputs: Values) -> dict[str, Values]:
        """Runners of the same owner and description that no machine has used yet."""
        kind = inputs["runnerType"]
        listed = api.find(path(_LISTS[kind], **inputs), type=kind, status="never_contacted")
        wanted = inputs.get("description", "")
        return {str(entry["id"]): entry for entry in listed if (entry.get("description") or "") == wanted}

    def adopt(self, api: Api, resource_id: str, twin: Values) -> Values:
        """The first token went with the lost answer: take a new one, which invalidates it."""
        answer = api.post(path("/runners/{id}/reset_authentication_token", id=resource_id), {})
        return {**twin, **answer}
