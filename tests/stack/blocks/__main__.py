"""Blocks that the stack itself does not use: made flavors, an upload, a generated key, zones, addresses."""

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import GpuFlavors, InstanceGroup, RunnerImage, RunnerNetwork, SshKey

config = pulumi.Config()
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))
opts = pulumi.ResourceOptions(provider=cloud)

image = RunnerImage(
    "image",
    {
        "image_name": "uploaded",
        "upload": {
            "file": config.require("file"),
            "checksum": config.require("checksum"),
            "disk_format": "raw",
        },
    },
    opts,
)
key = SshKey("ops", {}, opts)
operator = openstack.Provider("operator", cloud=config.require("operator"))
flavors = GpuFlavors(
    "sizes",
    {
        "wanted": [config.require("flavor")],
        "create": True,
        "extra_specs": {"2000": {"pci_passthrough:alias": "rtx2000:{cards}"}},
    },
    pulumi.ResourceOptions(provider=operator),
)
network = RunnerNetwork("blocks", {"cidr": "10.23.0.0/24", "external_network": "ext-net"}, opts)
group = InstanceGroup(
    "block",
    {
        "count": 2,
        "flavor": "edge-c4m16-gpu-2000-1",
        "zones": ["zone-a", "zone-b"],
        "floating_ip_pool": "ext-net",
        "image_id": image.image_id,
        "network_id": network.network_id,
        "subnet_id": network.subnet_id,
        "security_group_ids": [network.security_group_id],
        "key_name": key.key_name,
        "boot_volume": {"size_gib": 10},
    },
    opts,
)

pulumi.export("image", image.image_id)
pulumi.export("flavors", flavors.flavor_ids)
pulumi.export("key", key.key_name)
pulumi.export("privateKey", key.private_key)
pulumi.export("public", group.floating_addresses)
