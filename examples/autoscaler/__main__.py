"""A controller that makes a fresh GPU machine for each GitHub job, spot first, and deletes it right after."""

from pathlib import Path

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import Autoscaler, RunnerImage, RunnerNetwork, job_boot
from shadow_gpu_runners.boot_files import BootSettings

config = pulumi.Config()
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))
opts = pulumi.ResourceOptions(provider=cloud)
image = RunnerImage("image", {"image_name": "ubuntu-22.04-cuda"}, opts)
network = RunnerNetwork("ci", {"cidr": "10.42.0.0/24", "external_network": "ext-net", "instances": 4}, opts)

boot = BootSettings(gpu_image="nvidia/cuda:12.1.0-base-ubuntu22.04", packages=job_boot.packages("github"))
clouds = Path(config.require("cloudsFile"))
autoscaler = Autoscaler(
    "autoscaler",
    {
        "url": config.require("url"),
        "config": {
            "github": {
                "owner": config.require("owner"),
                "token": "github-token",
                "webhook_secret": "webhook-secret",
            },
            "openstack": pulumi.Output.from_input(
                {
                    "cloud": "ci",
                    "image": "ubuntu-22.04-cuda",
                    "network_id": network.network_id,
                    "security_groups": [network.security_group_id],
                    "volume": {"size_gib": 60, "type": "Wood"},
                }
            ),
            "pools": [
                {
                    "name": "rtx2000",
                    "forge": "github",
                    "labels": ["self-hosted", "shadow-gpu"],
                    "max": 3,
                    "ladder": [
                        {"flavor": "edge-preemptible-c4m16-gpu-2000-1", "market": "spot"},
                        {"flavor": "edge-c4m16-gpu-2000-1", "market": "on-demand"},
                    ],
                }
            ],
        },
        "user_data": {"rtx2000": job_boot.user_data(job_boot.JobSettings(kind="github", boot=boot))},
        "secrets": {
            "github-token": config.require_secret("githubToken"),
            "webhook-secret": config.require_secret("webhookSecret"),
            "callback-key": config.require_secret("callbackKey"),
        },
        "clouds_yaml": pulumi.Output.secret(clouds.read_text() if clouds.exists() else "clouds: {}\n"),
        "wheel": config.require("wheel"),
        "flavor": "edge-c2m4",
        "image_id": image.image_id,
        "network_id": network.network_id,
        "subnet_id": network.subnet_id,
        "floating_ip_pool": "ext-net",
        "allow_from": ["192.0.2.0/24"],
    },
    opts,
)

pulumi.export("webhook", autoscaler.github_webhook_url)
pulumi.export("address", autoscaler.floating_address)
