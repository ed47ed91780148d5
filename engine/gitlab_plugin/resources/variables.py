"""`ProjectVariable` and `GroupVariable`: CI/CD variables."""

from typing import Any

from gitlab_plugin.api import Api
from gitlab_plugin.errors import ApiError
from gitlab_plugin.fields import Field
from gitlab_plugin.resources.base import ResourceType, Values


def _fields(owner: str) -> tuple[Field, ...]:
    return (
        Field(owner, required=True, replace=True, unread=True),
        Field("key", required=True, replace=True),
        Field("value", required=True),
        Field("description"),
        Field("environmentScope", replace=True, default="*"),
        Field("hidden", "boolean", api="masked_and_hidden", answered_as="hidden", replace=True),
        Field("masked", "boolean", default=False),
        Field("protected", "boolean", default=False),
        Field("raw", "boolean", default=False),
        Field("variableType", choices=("env_var", "file"), default="env_var"),
    )


class _Variable(ResourceType):
    def resource_id(self, inputs: Values, answer: Values) -> str:
        """Owner, key and environment scope together name a variable."""
        owner = self.id_parts[0]
        scope = answer.get("environment_scope") or inputs.get("environmentScope") or "*"
        return f"{inputs[owner]}:{inputs['key']}:{scope}"

    def body(self, inputs: Values, names: set[str] | None = None) -> dict[str, Any]:
        """GitLab takes `masked_and_hidden` only when true, and wants the value with every update."""
        wanted = None if names is None else names | {"value"}
        body = super().body(inputs, wanted)
        if not body.get("masked_and_hidden"):
            body.pop("masked_and_hidden", None)
        if names is None:
            body["key"] = inputs["key"]
        return body

    def from_id(self, resource_id: str) -> dict[str, Any]:
        """The scope's property is spelled differently from its id part."""
        owner, key, scope = (*resource_id.split(":", 2), "*")[:3]
        return {self.id_parts[0]: owner, "key": key, "environmentScope": scope}

    def item_path(self, resource_id: str) -> str:
        """The environment scope is a query filter; an id without one means all environments."""
        full = resource_id if resource_id.count(":") > 1 else f"{resource_id}:*"
        return super().item_path(full)

    def twins(self, api: Api, inputs: Values) -> dict[str, Values]:
        """The variable itself, if it is there."""
        resource_id = self.resource_id(inputs, {})
        try:
            found = api.get(self.item_path(resource_id))
        except ApiError as error:
            if error.status == 404:
                return {}
            raise
        return {resource_id: found}


class ProjectVariable(_Variable):
    """A CI/CD variable of a project."""

    token = "gitlab:index/projectVariable:ProjectVariable"  # noqa: S105 - a type token
    fields = _fields("project")
    collection = "/projects/{project}/variables"
    item = "/projects/{project}/variables/{key}?filter[environment_scope]={environment_scope}"
    id_parts = ("project", "key", "environment_scope")


class GroupVariable(_Variable):
    """A CI/CD variable of a group and all its projects."""

    token = "gitlab:index/groupVariable:GroupVariable"  # noqa: S105 - a type token
    fields = _fields("group")
    collection = "/groups/{group}/variables"
    item = "/groups/{group}/variables/{key}?filter[environment_scope]={environment_scope}"
    id_parts = ("group", "key", "environment_scope")
