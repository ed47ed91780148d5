"""The same resources as the components make, declared directly; reads the environment that run.py sets."""

import os

import pulumi
import pulumi_openstack as openstack

provider = openstack.Provider("cloud", cloud=os.environ["CLOUD"], region=os.environ["REGION"])
opts = pulumi.ResourceOptions(provider=provider)
MARK = {
    "shadow-gpu-runners.managed-by": "shadow-gpu-runners",
    "shadow-gpu-runners.deployment": "groups-bare.b",
    "shadow-gpu-runners.component": "bare",
}
for number in range(int(os.environ["GROUPS"])):
    name = f"g{number:02d}"
    group = openstack.compute.ServerGroup(name, name=name, policies="soft-anti-affinity", opts=opts)
    port = openstack.networking.Port(
        f"{name}-port",
        name=f"{name}-01",
        network_id=os.environ["NETWORK"],
        security_group_ids=[os.environ["SECURITY_GROUP"]],
        tags=[f"{key.partition('.')[2]}={value}" for key, value in MARK.items()],
        opts=opts,
    )
    openstack.compute.Instance(
        f"{name}-01",
        name=f"{name}-01",
        flavor_name="micro-c1m2",
        block_devices=[
            {
                "uuid": os.environ["IMAGE"],
                "source_type": "image",
                "destination_type": "volume",
                "boot_index": 0,
                "volume_size": 10,
                "volume_type": "Wood",
                "delete_on_termination": True,
            }
        ],
        networks=[{"port": port.id}],
        scheduler_hints=[{"group": group.id}],
        metadata=MARK,
        stop_before_destroy=True,
        opts=opts,
    )
