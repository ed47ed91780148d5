"""A GitLab runner for one project, served by two spot instances with a GPU each."""

import pulumi
import pulumi_gitlab as gitlab
import pulumi_openstack as openstack

from shadow_gpu_runners import GitLabRunner, InstanceGroup, RunnerImage, RunnerNetwork

config = pulumi.Config()
url = config.require("gitlabUrl")
forge = gitlab.Provider(
    "gitlab", base_url=f"{url.rstrip('/')}/api/v4/", token=config.require_secret("gitlabToken")
)
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))
on_cloud = pulumi.ResourceOptions(provider=cloud)

runner = GitLabRunner(
    "gpu",
    {
        "project": config.require("project"),
        "url": url,
        "tags": ["shadow-gpu"],
        "maximum_timeout": 3600,
        "environment": ["NVIDIA_DRIVER_CAPABILITIES=compute,utility"],
        "docker": {
            "image": "nvidia/cuda:12.1.0-base-ubuntu22.04",
            "pull_policy": ["if-not-present"],
            "shm_size": 2 * 2**30,
        },
        "boot": {"gpu_count": 1, "gpu_timeout_s": 300},
    },
    pulumi.ResourceOptions(provider=forge),
)

network = RunnerNetwork("ci", {"cidr": "10.21.0.0/24", "external_network": "ext-net"}, on_cloud)
image = RunnerImage("image", {"image_name": "ubuntu-22.04-cuda"}, on_cloud)
group = InstanceGroup(
    "gpu-runner",
    {
        "count": 2,
        "flavor": "edge-c4m16-gpu-2000-1",
        "image_id": image.image_id,
        "network_id": network.network_id,
        "subnet_id": network.subnet_id,
        "security_group_ids": [network.security_group_id],
        "user_data": runner.user_data,
    },
    on_cloud,
)

pulumi.export("runnerId", runner.runner_id)
pulumi.export("tags", runner.tags)
pulumi.export("instances", group.names)
