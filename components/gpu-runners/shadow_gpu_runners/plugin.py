"""Serves the components to programs in other languages, as the plugin `shadow-gpu-runners`."""

import importlib.metadata
import sys
from typing import Any, cast

import pulumi
from pulumi import provider
from pulumi.provider import ConstructResult, server
from pulumi.provider.experimental.component import ComponentProvider

from shadow_gpu_runners.autoscaler import Autoscaler
from shadow_gpu_runners.github_runner_group import GitHubRunnerGroup
from shadow_gpu_runners.gitlab_runner import GitLabRunner
from shadow_gpu_runners.gpu_flavors import GpuFlavors
from shadow_gpu_runners.instance_group import InstanceGroup
from shadow_gpu_runners.runner_image import RunnerImage
from shadow_gpu_runners.runner_network import RunnerNetwork
from shadow_gpu_runners.ssh_key import SshKey

NAME = "shadow-gpu-runners"
"""Name of the package, of the plugin and of the distribution."""

COMPONENTS: list[type[pulumi.ComponentResource]] = [
    Autoscaler,
    GitHubRunnerGroup,
    GitLabRunner,
    GpuFlavors,
    InstanceGroup,
    RunnerImage,
    RunnerNetwork,
    SshKey,
]
"""Every component that the plugin serves."""


class Plugin(ComponentProvider):
    """Serves the components, and hands their input faults on as such."""

    def construct(
        self, name: str, resource_type: str, inputs: Any, options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Make a component; raises `pulumi.InputPropertiesError` for its faults."""
        try:
            return super().construct(name, resource_type, inputs, options)
        except server.ComponentInitError as error:
            inner = cast("Any", error).inner
            if not isinstance(inner, pulumi.InputPropertiesError):
                raise
            # The SDK would report the wrapped error, and one that is a RunError, with a stack trace.
            raise pulumi.InputPropertiesError(inner.message, inner.errors) from None


def main() -> None:
    """Serve until the engine that started this process ends it."""
    version = importlib.metadata.version("shadow-gpu-runners")
    cast("Any", provider).main(Plugin(COMPONENTS, NAME, None, version), sys.argv[1:])
