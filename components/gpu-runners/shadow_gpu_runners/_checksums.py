"""Digests of images, compared with a file before it is sent and with what the image service computed."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pulumi_openstack as openstack

from shadow_gpu_runners._validation import Problems

PROPERTY = "shadow_gpu_runners_checksum"
"""Image property that holds the expected digest."""

_LENGTHS = {"md5": 32, "sha256": 64, "sha512": 128}
_QCOW2 = b"QFI\xfb"
_BY_IMAGE_SERVICE = ("sha512", "md5")


@dataclass(frozen=True, slots=True)
class Checksum:
    """An expected digest."""

    algorithm: str
    """`md5`, `sha256` or `sha512`."""

    digest: str
    """Digest in lower-case hexadecimal."""


def parse(problems: Problems, path: str, text: str, *, from_url: bool) -> Checksum | None:
    """Return the digest written in `text`, or note why it is none and return None."""
    algorithm, _, digest = text.lower().partition(":")
    usable = _BY_IMAGE_SERVICE if from_url else tuple(_LENGTHS)
    well_formed = len(digest) == _LENGTHS.get(algorithm) and set(digest) <= set("0123456789abcdef")
    if algorithm in usable and well_formed:
        return Checksum(algorithm, digest)
    remedy = "the image service computes these" if from_url else "see `sha256sum FILE`"
    problems.add(path, text, f"{' or '.join(usable)}:<hexadecimal digest>", remedy)
    return None


def check_file(problems: Problems, path: str, name: str, wanted: Checksum) -> None:
    """Note a fault unless the file `name` can be read and has the digest `wanted`."""
    try:
        with Path(name).open("rb") as file:
            found = hashlib.file_digest(file, wanted.algorithm).hexdigest()
    except OSError as error:
        problems.add(path, name, "a file that can be read", f"it cannot: {error.strerror}")
        return
    if found != wanted.digest:
        problems.add(
            path,
            name,
            f"{wanted.algorithm} {wanted.digest}",
            f"it has {found}; download it again",
        )


def check_format(problems: Problems, path: str, name: str, disk_format: str) -> None:
    """Note a fault when the file `name` is QCOW2 and `disk_format` says otherwise, or the other way round.

    The image service looks too, but only once all of the file has been sent.
    """
    try:
        with Path(name).open("rb") as file:
            is_qcow2 = file.read(len(_QCOW2)) == _QCOW2
    except OSError:
        return
    if is_qcow2 and disk_format != "qcow2":
        problems.add(path, disk_format, "qcow2, as the file is", "mend it")
    if not is_qcow2 and disk_format == "qcow2":
        problems.add(
            path, disk_format, "the file's format, which is not qcow2", "set it, for example to 'raw'"
        )


def verified(name: str, text: str, image: openstack.images.Image) -> pulumi.Output[str]:
    """Return the ID of `image`, which fails when the image service computed another digest than `text`."""
    algorithm, _, wanted = text.partition(":")

    def compare(known: list[Any]) -> str:
        image_id, md5 = known[0], known[1]
        properties: dict[str, str] = known[2] or {}
        computed = {"md5": md5, properties.get("os_hash_algo"): properties.get("os_hash_value")}
        found = computed.get(algorithm)
        if found not in (None, wanted):
            problems = Problems(f"RunnerImage {name!r}")
            problems.add(
                "upload.checksum",
                text,
                f"{algorithm}:{found}, as received",
                "check the source",
            )
            problems.raise_if_any()
        return str(image_id)

    return pulumi.Output.all(image.id, image.checksum, image.properties).apply(compare)
