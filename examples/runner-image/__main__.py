"""Finds the newest image of a name, or uploads one whose digest is known."""

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import RunnerImage, RunnerImageArgs

config = pulumi.Config()
cloud = openstack.Provider("cloud", cloud=config.require("cloud"))

args: RunnerImageArgs = {"image_name": config.require("image")}
if config.get("file"):
    args["upload"] = {
        "file": config.require("file"),
        "checksum": config.require("checksum"),
        "disk_format": config.require("format"),
    }

image = RunnerImage("image", args, pulumi.ResourceOptions(provider=cloud))

pulumi.export("imageId", image.image_id)
pulumi.export("minDiskGib", image.min_disk_gib)
