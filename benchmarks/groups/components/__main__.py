"""N groups of one instance each, by this project's components; reads the environment that run.py sets."""

import os

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners.instance_group import InstanceGroup

provider = openstack.Provider("cloud", cloud=os.environ["CLOUD"], region=os.environ["REGION"])
for number in range(int(os.environ["GROUPS"])):
    InstanceGroup(
        f"g{number:02d}",
        {
            "count": 1,
            "flavor": "micro-c1m2",
            "market": "on-demand",
            "flavor_ids": {"micro-c1m2": os.environ["FLAVOR"]},
            "image_id": os.environ["IMAGE"],
            "network_id": os.environ["NETWORK"],
            "security_group_ids": [os.environ["SECURITY_GROUP"]],
            "boot_volume": {"size_gib": 10},
        },
        pulumi.ResourceOptions(provider=provider),
    )
