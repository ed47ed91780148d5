"""Serves the components to programs in other languages, as the plugin `shadow-gpu-runners`."""

import importlib.metadata

import pulumi
from pulumi.provider.experimental import component_provider_host

from shadow_gpu_runners.gpu_flavors import GpuFlavors
from shadow_gpu_runners.instance_group import InstanceGroup
from shadow_gpu_runners.runner_image import RunnerImage
from shadow_gpu_runners.runner_network import RunnerNetwork
from shadow_gpu_runners.ssh_key import SshKey

NAME = "shadow-gpu-runners"
"""Name of the package, of the plugin and of the distribution."""

COMPONENTS: list[type[pulumi.ComponentResource]] = [
    GpuFlavors,
    InstanceGroup,
    RunnerImage,
    RunnerNetwork,
    SshKey,
]
"""Every component that the plugin serves."""


def main() -> None:
    """Serve until the engine that started this process ends it."""
    component_provider_host(
        components=COMPONENTS, name=NAME, version=importlib.metadata.version("shadow-gpu-runners")
    )
