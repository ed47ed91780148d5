"""Ownership marks: what we create says so in the create call; what lacks the mark is never touched."""

import re
from collections.abc import Mapping

import pulumi

MANAGED_BY = "shadow-gpu-runners"
MADE_BY_AUTOSCALER = "autoscaler"
"""The component that the autoscaler names in what it makes by itself."""
_DEPLOYMENT_KEY = f"{MANAGED_BY}.deployment"
_COMPONENT_KEY = f"{MANAGED_BY}.component"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def deployment_id() -> str:
    """Return the mark's value for the running program: `<project>.<stack>`."""
    return deployment_of(pulumi.get_project(), pulumi.get_stack())


def deployment_of(project: str, stack: str) -> str:
    """Return the mark's value for a stack that is not the running one."""
    return _UNSAFE.sub("-", f"{project}.{stack}")


def metadata(deployment: str, component: str) -> dict[str, str]:
    """Return Nova and Cinder metadata of something that `component` made for `deployment`."""
    return {
        f"{MANAGED_BY}.managed-by": MANAGED_BY,
        _DEPLOYMENT_KEY: deployment,
        _COMPONENT_KEY: component,
    }


def is_marked(metadata: Mapping[str, str] | None, deployment: str, component: str | None = None) -> bool:
    """Whether something with this metadata belongs to `deployment`, and to `component` where it is named."""
    if metadata is None or metadata.get(_DEPLOYMENT_KEY) != deployment:
        return False
    return component is None or metadata.get(_COMPONENT_KEY) == component


def deployment_tag(deployment: str) -> str:
    """Return the tag that what belongs to `deployment` is found by."""
    return f"deployment={deployment}"


def tags(deployment: str, component: str) -> list[str]:
    """Return Neutron and Glance tags (at most 255 characters, no slash or comma) with the same mark."""
    return [f"managed-by={MANAGED_BY}", deployment_tag(deployment), f"component={component}"]
