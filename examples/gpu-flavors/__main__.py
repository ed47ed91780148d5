"""Looks GPU flavors up; one that does not exist fails the preview with near matches."""

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import GpuFlavors

config = pulumi.Config()
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))

flavors = GpuFlavors(
    "flavors",
    {"wanted": config.require_object("flavors")},
    pulumi.ResourceOptions(provider=cloud),
)

pulumi.export("flavorIds", flavors.flavor_ids)
