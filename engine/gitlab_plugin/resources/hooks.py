"""`ProjectHook` and `GroupHook`: webhooks that tell of jobs and pipelines."""

from typing import Any, ClassVar, Final

from gitlab_plugin.api import Api
from gitlab_plugin.fields import Field
from gitlab_plugin.resources.base import ResourceType, Values

_EVENTS: Final = (
    "confidentialIssuesEvents",
    "confidentialNoteEvents",
    "deploymentEvents",
    "emojiEvents",
    "featureFlagEvents",
    "issuesEvents",
    "jobEvents",
    "mergeRequestsEvents",
    "milestoneEvents",
    "noteEvents",
    "pipelineEvents",
    "releasesEvents",
    "resourceAccessTokenEvents",
    "tagPushEvents",
    "vulnerabilityEvents",
    "wikiPageEvents",
)


def _fields(owner: str, *more_events: str) -> tuple[Field, ...]:
    return (
        Field(owner, required=True, replace=True, unread=True),
        Field("url", required=True, replace=True),
        Field("name"),
        Field("description"),
        Field("branchFilterStrategy", choices=("wildcard", "regex", "all_branches")),
        Field("pushEventsBranchFilter"),
        Field("customWebhookTemplate"),
        Field("customHeaders", "pairs", unread=True),
        Field("urlVariables", "pairs", unread=True),
        Field("token", secret=True, unread=True),
        Field("signingToken", secret=True, unread=True),
        Field("enableSslVerification", "boolean", default=True),
        Field("pushEvents", "boolean", default=True),
        *(Field(event, "boolean", default=False) for event in (*_EVENTS, *more_events)),
        Field("hookId", "integer", api="id", output_only=True),
        Field("alertStatus", output_only=True),
        Field("disabledUntil", output_only=True),
        Field("signingTokenPresent", "boolean", output_only=True),
    )


class _Hook(ResourceType):
    owner: ClassVar[str]

    def twins(self, api: Api, inputs: Values) -> dict[str, Values]:
        """Hooks of the same owner that call the same address."""
        listed = api.find(self.create_path(inputs))
        return {self.resource_id(inputs, hook): hook for hook in listed if hook["url"] == inputs["url"]}

    def observed(self, answer: Values, resource_id: str) -> dict[str, Any]:
        """An address that a hook was never disabled for has no date."""
        values = super().observed(answer, resource_id)
        values.setdefault("signingTokenPresent", False)
        return values


class ProjectHook(_Hook):
    """A webhook of a project."""

    token = "gitlab:index/projectHook:ProjectHook"  # noqa: S105 - a type token
    owner = "project"
    fields = (
        *_fields("project", "resourceDeployTokenEvents"),
        Field("projectId", "integer", output_only=True),
        Field("repositoryUpdateEvents", "boolean", output_only=True),
    )
    collection = "/projects/{project}/hooks"
    item = "/projects/{project}/hooks/{id}"
    id_parts = ("project", "id")


class GroupHook(_Hook):
    """A webhook of a group and all its projects (GitLab Premium)."""

    token = "gitlab:index/groupHook:GroupHook"  # noqa: S105 - a type token
    owner = "group"
    fields = (
        *_fields("group", "memberEvents", "projectEvents", "subgroupEvents"),
        Field("groupId", "integer", output_only=True),
    )
    collection = "/groups/{group}/hooks"
    item = "/groups/{group}/hooks/{id}"
    id_parts = ("group", "id")
