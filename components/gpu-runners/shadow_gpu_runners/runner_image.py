"""Image that runners boot from: one that the cloud has, or one uploaded from a file or an address."""

from typing import NotRequired, TypedDict

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners import _checksums, _known, ownership
from shadow_gpu_runners._validation import Problems, whole

DISK_FORMATS = ("qcow2", "raw", "vmdk", "vdi", "vhd", "vhdx", "iso")
VISIBILITIES = ("private", "shared", "community", "public")


class ImageUploadArgs(TypedDict):
    """Where an image comes from and what it must be."""

    file: NotRequired[str]
    """Path of the image file on the machine that runs Pulumi."""

    url: NotRequired[str]
    """Address that the image is downloaded from, in place of `file`."""

    checksum: str
    """`<algorithm>:<hexadecimal digest>` of the file: sha256, sha512 or md5, from `url` sha512 or md5."""

    disk_format: NotRequired[str]
    """Format of the file; `qcow2` when left out."""

    visibility: NotRequired[str]
    """Who sees it; `private` when left out."""

    min_disk_gib: NotRequired[int]
    """Smallest disk in GiB that it boots from."""

    min_ram_mib: NotRequired[int]
    """Smallest memory in MiB that it boots with."""


class RunnerImageArgs(TypedDict):
    """Inputs of `RunnerImage`. The newest image that fits every filter is taken, or one is uploaded."""

    image_name: NotRequired[str]
    """Exact name of the image to look up, or name of the uploaded one."""

    name_regex: NotRequired[str]
    """Regular expression that the name must match, in place of `image_name`."""

    properties: NotRequired[dict[str, str]]
    """Properties that the image must have, or that an uploaded one gets, for example `os_distro`."""

    owner: NotRequired[str]
    """ID of the project that must own the image."""

    tag: NotRequired[str]
    """Tag that the image must have."""

    upload: NotRequired[ImageUploadArgs]
    """Set to upload the image instead of looking it up."""


class RunnerImage(pulumi.ComponentResource):
    """The image that runners boot from."""

    image_id: pulumi.Output[str]
    """ID of the image; for an upload known only once the checksum was right."""

    image_name: pulumi.Output[str]
    """Name of the image."""

    checksum: pulumi.Output[str]
    """MD5 digest that the image service computed."""

    min_disk_gib: pulumi.Output[int]
    """Smallest disk in GiB that the image boots from."""

    def __init__(self, name: str, args: RunnerImageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("shadow-gpu-runners:index:RunnerImage", name, {}, opts)
        _check(name, args)
        if "upload" in args:
            self._upload(name, args, args["upload"])
        else:
            self._look_up(args)
        self.register_outputs(
            {
                "imageId": self.image_id,
                "imageName": self.image_name,
                "checksum": self.checksum,
                "minDiskGib": self.min_disk_gib,
            }
        )

    def _look_up(self, args: RunnerImageArgs) -> None:
        found = openstack.images.get_image_output(
            name=args.get("image_name"),
            name_regex=args.get("name_regex"),
            properties=args.get("properties"),
            owner=args.get("owner"),
            tag=args.get("tag"),
            most_recent=True,
            opts=pulumi.InvokeOutputOptions(parent=self),
        )
        self.image_id = found.apply(lambda image: image.id)
        self.image_name = found.apply(lambda image: image.name or "")
        self.checksum = found.apply(lambda image: image.checksum)
        self.min_disk_gib = found.apply(lambda image: image.min_disk_gb)

    def _upload(self, name: str, args: RunnerImageArgs, upload: ImageUploadArgs) -> None:
        digest = upload["checksum"].lower()
        image = openstack.images.Image(
            f"{name}-image",
            name=args.get("image_name") or name,
            local_file_path=upload.get("file"),
            image_source_url=upload.get("url"),
            container_format="bare",
            disk_format=upload.get("disk_format", "qcow2"),
            visibility=upload.get("visibility", "private"),
            min_disk_gb=whole(upload["min_disk_gib"]) if "min_disk_gib" in upload else None,
            min_ram_mb=whole(upload["min_ram_mib"]) if "min_ram_mib" in upload else None,
            properties={**args.get("properties", {}), _checksums.PROPERTY: digest},
            tags=ownership.tags(ownership.deployment_id(), name),
            # The digest says what the image is. Where the file lies differs from machine to machine.
            opts=pulumi.ResourceOptions(
                parent=self,
                replace_on_changes=[f"properties.{_checksums.PROPERTY}"],
                ignore_changes=["local_file_path"],
            ),
        )
        self.image_id = _checksums.verified(name, digest, image)
        self.image_name = image.name
        self.checksum = image.checksum
        self.min_disk_gib = image.min_disk_gb.apply(lambda size: size or 0)


def _check(name: str, args: RunnerImageArgs) -> None:
    problems = Problems(f"RunnerImage {name!r}")
    _known.check_kinds(problems, args, RunnerImageArgs)
    if "upload" in args:
        _check_upload(problems, args["upload"])
    elif not any(key in args for key in ("image_name", "name_regex", "tag", "properties")):
        problems.add_missing(
            "imageName",
            "imageName, nameRegex, tag, properties or upload",
            "name an image, see `openstack image list`",
        )
    if "image_name" in args and "name_regex" in args:
        problems.add("nameRegex", args["name_regex"], "nothing beside imageName", "remove one of them")
    problems.raise_if_any()


def _check_upload(problems: Problems, upload: ImageUploadArgs) -> None:
    sources = [key for key in ("file", "url") if key in upload]
    if len(sources) != 1:
        problems.add("upload", sources, "one of file and url", "give exactly one")
    problems.one_of("upload.diskFormat", upload.get("disk_format", "qcow2"), DISK_FORMATS)
    problems.one_of("upload.visibility", upload.get("visibility", "private"), VISIBILITIES)
    if "url" in upload and not upload["url"].startswith(("https://", "http://")):
        problems.add("upload.url", upload["url"], "an http or https address", "mend it")
    wanted = _checksums.parse(problems, "upload.checksum", upload["checksum"], from_url="url" in upload)
    if wanted and "file" in upload:
        _checksums.check_file(problems, "upload.file", upload["file"], wanted)
    if "file" in upload:
        _checksums.check_format(
            problems, "upload.diskFormat", upload["file"], upload.get("disk_format", "qcow2")
        )
