"""Ownership marks: what we create says so in the create call; what lacks the mark is never touched."""

import re

import pulumi

MANAGED_BY = "shadow-gpu-runners"
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
        "shadow-gpu-runners.managed-by": MANAGED_BY,
        "shadow-gpu-runners.deployment": deployment,
        "shadow-gpu-runners.component": component,
    }


def tags(deployment: str, component: str) -> list[str]:
    """Return Neutron tags (at most 255 characters, no slash or comma) with the same mark."""
    return [f"managed-by={MANAGED_BY}", f"deployment={deployment}", f"component={component}"]


def image_tags(deployment: str, component: str) -> list[str]:
    """Return Glance tags with the same mark."""
    return tags(deployment, component)
