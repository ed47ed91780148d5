"""A network whose runners reach HTTPS, DNS and one package mirror, and which nothing reaches."""

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import RunnerNetwork

config = pulumi.Config()
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))

network = RunnerNetwork(
    "ci",
    {
        "cidr": "10.20.0.0/24",
        "external_network": config.require("externalNetwork"),
        "instances": 50,
        "egress": [
            {"port": 443, "description": "HTTPS"},
            {"protocol": "udp", "port": 53, "description": "DNS"},
            {"port": 8081, "cidr": "203.0.113.0/24", "description": "package mirror"},
        ],
    },
    pulumi.ResourceOptions(provider=cloud),
)

pulumi.export("networkId", network.network_id)
pulumi.export("securityGroupId", network.security_group_id)
