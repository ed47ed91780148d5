"""A group of GPU instances in a network of their own, with what they cost."""

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import InstanceGroup, RunnerImage, RunnerNetwork

USER_DATA = """#cloud-config
write_files:
  - path: /etc/motd
    content: "GPU runner\\n"
"""

config = pulumi.Config()
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))
on_cloud = pulumi.ResourceOptions(provider=cloud)

network = RunnerNetwork("ci", {"cidr": "10.20.0.0/24", "external_network": "ext-net"}, on_cloud)
image = RunnerImage("image", {"image_name": config.require("image")}, on_cloud)

group = InstanceGroup(
    "gpu",
    {
        "count": config.require_int("count"),
        "flavor": config.require("flavor"),
        "market": config.require("market"),
        "on_demand_fallback": config.require_object("onDemandFallback"),
        "image_id": image.image_id,
        "network_id": network.network_id,
        "subnet_id": network.subnet_id,
        "security_group_ids": [network.security_group_id],
        "boot_volume": {"size_gib": 20},
        "user_data": USER_DATA,
    },
    on_cloud,
)

pulumi.export("addresses", group.addresses)
pulumi.export("flavors", group.flavors)
pulumi.export("eurPerHour", group.hourly_price)
pulumi.export("eurPerMonth", {"spot": group.monthly_spot, "onDemand": group.monthly_on_demand})
pulumi.export("prices", group.price_note)
