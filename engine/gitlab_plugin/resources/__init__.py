"""The resource types that this plugin serves, by type token."""

from typing import Final

from gitlab_plugin.resources.base import ResourceType
from gitlab_plugin.resources.hooks import GroupHook, ProjectHook
from gitlab_plugin.resources.namespaces import Group, Project
from gitlab_plugin.resources.user_runner import UserRunner
from gitlab_plugin.resources.variables import GroupVariable, ProjectVariable

TYPES: Final[dict[str, ResourceType]] = {
    kind.token: kind
    for kind in (
        UserRunner(),
        ProjectHook(),
        GroupHook(),
        Project(),
        Group(),
        ProjectVariable(),
        GroupVariable(),
    )
}
"""Every resource type, by token."""
