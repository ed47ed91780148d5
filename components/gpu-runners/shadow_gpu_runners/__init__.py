"""GPU CI runners on Shadow's OpenStack cloud as Pulumi components.

Names are loaded when first used, so that the catalog, the prices and the cost estimate cost no SDK import.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shadow_gpu_runners._boot_args import BootArgs, RepositoryArgs
    from shadow_gpu_runners.autoscaler import (
        Autoscaler,
        AutoscalerArgs,
        AutoscalerTlsArgs,
        AutoscalerVolumeArgs,
    )
    from shadow_gpu_runners.github_runner_group import GitHubRunnerGroup, GitHubRunnerGroupArgs
    from shadow_gpu_runners.github_webhook import GitHubWebhookArgs
    from shadow_gpu_runners.gitlab_runner import GitLabRunner, GitLabRunnerArgs
    from shadow_gpu_runners.gpu_flavors import GpuFlavors, GpuFlavorsArgs
    from shadow_gpu_runners.instance_group import BootVolumeArgs, InstanceGroup, InstanceGroupArgs
    from shadow_gpu_runners.runner_image import ImageUploadArgs, RunnerImage, RunnerImageArgs
    from shadow_gpu_runners.runner_network import EgressRuleArgs, RunnerNetwork, RunnerNetworkArgs
    from shadow_gpu_runners.ssh_key import SshKey, SshKeyArgs

__all__ = [
    "Autoscaler",
    "AutoscalerArgs",
    "AutoscalerTlsArgs",
    "AutoscalerVolumeArgs",
    "BootArgs",
    "BootVolumeArgs",
    "EgressRuleArgs",
    "GitHubRunnerGroup",
    "GitHubRunnerGroupArgs",
    "GitHubWebhookArgs",
    "GitLabRunner",
    "GitLabRunnerArgs",
    "GpuFlavors",
    "GpuFlavorsArgs",
    "ImageUploadArgs",
    "InstanceGroup",
    "InstanceGroupArgs",
    "RepositoryArgs",
    "RunnerImage",
    "RunnerImageArgs",
    "RunnerNetwork",
    "RunnerNetworkArgs",
    "SshKey",
    "SshKeyArgs",
]

_MODULES = {
    "_boot_args": ("BootArgs", "RepositoryArgs"),
    "autoscaler": ("Autoscaler", "AutoscalerArgs", "AutoscalerTlsArgs", "AutoscalerVolumeArgs"),
    "github_runner_group": ("GitHubRunnerGroup", "GitHubRunnerGroupArgs"),
    "github_webhook": ("GitHubWebhookArgs",),
    "gitlab_runner": ("GitLabRunner", "GitLabRunnerArgs"),
    "gpu_flavors": ("GpuFlavors", "GpuFlavorsArgs"),
    "instance_group": ("BootVolumeArgs", "InstanceGroup", "InstanceGroupArgs"),
    "runner_image": ("ImageUploadArgs", "RunnerImage", "RunnerImageArgs"),
    "runner_network": ("EgressRuleArgs", "RunnerNetwork", "RunnerNetworkArgs"),
    "ssh_key": ("SshKey", "SshKeyArgs"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
