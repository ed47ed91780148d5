"""A key pair for administrators: from a public key, or generated with the private key as a secret."""

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import SshKey, SshKeyArgs

config = pulumi.Config()
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))

args: SshKeyArgs = {}
if config.get("publicKey"):
    args["public_key"] = config.require("publicKey")

key = SshKey("ops", args, pulumi.ResourceOptions(provider=cloud))

pulumi.export("keyName", key.key_name)
pulumi.export("privateKey", key.private_key)
