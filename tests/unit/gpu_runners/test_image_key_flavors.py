"""Images, key pairs and flavors."""

import hashlib
from pathlib import Path
from typing import Any, cast

import pulumi
import pytest
from unit.gpu_runners.helpers import faults, run

from shadow_gpu_runners import (
    GpuFlavors,
    GpuFlavorsArgs,
    RunnerImage,
    RunnerImageArgs,
    SshKey,
    SshKeyArgs,
)
from shadow_gpu_runners.testing import Invocation, Recording, Registration, record

PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0wmN/Cr3JXqmLW7u+g9pTh+wyqDHpSQEIQczXkVx9q ops@example.org"


def image(**args: Any) -> Recording:
    return run(lambda opts: RunnerImage("img", cast("RunnerImageArgs", args), opts))


def key(**args: Any) -> Recording:
    return run(lambda opts: SshKey("ops", cast("SshKeyArgs", args), opts))


def flavors(**args: Any) -> Recording:
    return run(lambda opts: GpuFlavors("gpu", cast("GpuFlavorsArgs", args), opts))


def test_an_image_is_looked_up_with_the_newest_first() -> None:
    recording = image(image_name="ubuntu-22.04-cuda")
    assert recording.outputs_of("img")["imageId"] == "id-of-ubuntu-22.04-cuda"
    (call,) = recording.invocations
    assert call.args == {"name": "ubuntu-22.04-cuda", "mostRecent": True}
    assert "::cloud::" in call.provider


def test_an_upload_is_checked_before_it_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "disk.qcow2"
    file.write_bytes(b"QFI\xfbdisk")
    digest = hashlib.sha256(b"QFI\xfbdisk").hexdigest()
    upload = image(upload={"file": str(file), "checksum": f"sha256:{digest}"}).named("img-image")
    assert upload.inputs["visibility"] == "private"
    assert upload.inputs["properties"] == {"shadow_gpu_runners_checksum": f"sha256:{digest}"}
    assert upload.replace_on_changes == ("properties.shadow_gpu_runners_checksum",)
    assert upload.ignore_changes == ("localFilePath",)
    assert "deployment=project.stack" in upload.inputs["tags"]
    with pytest.raises(pulumi.InputPropertiesError, match=f"it has {digest}"):
        image(upload={"file": str(file), "checksum": f"sha256:{'0' * 64}"})


@pytest.mark.parametrize(
    ("content", "disk_format", "expected"),
    [
        (b"QFI\xfbdisk", "raw", "qcow2, as the file is"),
        (b"disk", "qcow2", "not qcow2"),
        (b"disk", "raw", None),
        (b"QFI\xfbdisk", "qcow2", None),
    ],
)
def test_a_wrong_format_is_told_before_the_upload(
    tmp_path: Path, content: bytes, disk_format: str, expected: str | None
) -> None:
    file = tmp_path / "disk"
    file.write_bytes(content)
    checksum = f"md5:{hashlib.md5(content).hexdigest()}"  # noqa: S324 - what the image service computes
    upload = {"file": str(file), "checksum": checksum, "disk_format": disk_format}
    if expected is None:
        assert image(upload=upload).of_type("Image")
        return
    with pytest.raises(pulumi.InputPropertiesError, match=expected):
        image(upload=upload)


def uploaded(checksum: str) -> Recording:
    def outputs(resource: Registration) -> dict[str, Any]:
        if not resource.type.endswith(":Image"):
            return {}
        received = {"os_hash_algo": "sha512", "os_hash_value": "a" * 128}
        return {"checksum": "b" * 32, "properties": {**resource.inputs["properties"], **received}}

    def program() -> None:
        RunnerImage("img", {"upload": {"url": "https://images.example/x", "checksum": checksum}})

    return record(program, outputs=outputs)


@pytest.mark.parametrize("checksum", ["sha512:" + "a" * 128, "md5:" + "B" * 32])
def test_a_download_is_known_by_its_id_once_the_image_service_agrees(checksum: str) -> None:
    assert uploaded(checksum).outputs_of("img")["imageId"] == "img-image-id"


@pytest.mark.parametrize("checksum", ["sha512:" + "0" * 128, "md5:" + "0" * 32])
def test_a_download_with_another_digest_is_never_booted(checksum: str) -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="as received"):
        uploaded(checksum)


def test_every_fault_of_an_upload_is_reported_together() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        image(
            image_name="a",
            name_regex="b",
            upload={
                "file": "missing",
                "url": "ftp://x",
                "checksum": "sha256:" + "0" * 64,
                "disk_format": "zip",
                "visibility": "hidden",
            },
        )
    assert faults(caught.value) == {
        "nameRegex",
        "upload",
        "upload.url",
        "upload.checksum",
        "upload.diskFormat",
        "upload.visibility",
    }


def test_an_image_needs_a_filter_and_a_file_that_is_there() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="imageName: missing"):
        image()
    with pytest.raises(pulumi.InputPropertiesError, match="No such file"):
        image(upload={"file": "missing", "checksum": "md5:" + "0" * 32})


def test_a_given_key_is_used_under_a_marked_name() -> None:
    recording = key(public_key=PUBLIC + "\n")
    pair = recording.named("ops-keypair")
    assert pair.inputs == {"name": "project-stack-ops", "publicKey": PUBLIC}
    assert pair.delete_before_replace
    assert recording.outputs_of("ops")["privateKey"] == ""


def test_a_name_that_nova_refuses_is_refused_first() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="keyName"):
        key(key_name="ops.key")


def test_a_generated_private_key_is_secret() -> None:
    recording = key()
    urn = recording.named("ops").urn
    assert recording.named("ops-keypair").secret_outputs == {"privateKey"}
    assert "privateKey" in recording.secret_outputs[urn]


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nplanted\n",
        "ssh-dss AAAAB3NzaC1kc3MAAACB",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 not-base64!",
        PUBLIC + "\n" + PUBLIC,
        PUBLIC.replace("ssh-ed25519", "ssh-rsa"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_what_is_no_public_key_is_refused_early_and_late(text: str, late: bool) -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="publicKey") as caught:
        key(public_key=pulumi.Output.from_input(text) if late else text)
    assert "planted" not in str(caught.value)


def test_flavors_are_looked_up_with_their_spot_twins() -> None:
    recording = flavors(wanted=["boost-c8m32-gpu-a4500-1"])
    assert recording.outputs_of("gpu")["flavorIds"] == {
        "boost-c8m32-gpu-a4500-1": "id-of-boost-c8m32-gpu-a4500-1",
        "boost-preemptible-c8m32-gpu-a4500-1": "id-of-boost-preemptible-c8m32-gpu-a4500-1",
    }
    assert not recording.of_type("Flavor")


def test_every_missing_flavor_is_told_with_near_matches_that_exist() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        flavors(wanted=["edge-c4m16-gpu-2000-1", "boost-c8m32-gpu-a4500-3", "nothing"])
    text = str(caught.value)
    assert faults(caught.value) == {"wanted[0]", "wanted[1]", "wanted[2]"}
    assert "got 'edge-preemptible-c4m16-gpu-2000-1', expected a flavor of this cloud" in text
    assert "near matches that exist: boost-c8m32-gpu-a4500-1" in text
    assert "nothing like it was found" in text


def test_near_matches_come_from_a_given_list() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="near matches that exist: gpu-large"):
        flavors(wanted=["gpu-larg"], market="on-demand", available=["gpu-large", "cpu-small"])


def test_a_failing_cloud_is_not_a_missing_flavor() -> None:
    def answer(call: Invocation) -> dict[str, Any]:
        raise RuntimeError("Authentication failed")

    with pytest.raises(Exception, match="Authentication failed"):
        record(lambda: GpuFlavors("gpu", {"wanted": ["x"]}), answer=answer)


def test_created_flavors_have_sizes_from_their_names_and_specs_by_model() -> None:
    recording = flavors(
        wanted=["boost-c16m64-gpu-a4500-2"],
        create=True,
        extra_specs={"a4500": {"pci_passthrough:alias": "a4500:{cards}"}},
    )
    plain, spot = recording.of_type("Flavor")
    assert plain.inputs == {
        "name": "boost-c16m64-gpu-a4500-2",
        "vcpus": 16,
        "ram": 65536,
        "disk": 0,
        "isPublic": True,
        "extraSpecs": {"pci_passthrough:alias": "a4500:2"},
    }
    assert spot.inputs["name"] == "boost-preemptible-c16m64-gpu-a4500-2"
    assert plain.delete_before_replace
    assert not recording.invocations


def test_flavor_faults_are_reported_together() -> None:
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        flavors(wanted=["gpu"], create=True, market="cheap", spot_rule="x")
    assert faults(caught.value) == {"wanted[0]", "market", "spotRule"}
    with pytest.raises(pulumi.InputPropertiesError, match="at least one flavor"):
        flavors(wanted=[])


def test_other_conventions_for_spot_names() -> None:
    def answer(call: Invocation) -> dict[str, Any]:
        return {"id": call.args["name"]}

    def program() -> None:
        GpuFlavors("a", {"wanted": ["x"], "market": "spot", "spot_rule": "prefix:spot."})
        GpuFlavors("b", {"wanted": ["x"], "market": "spot", "spot_names": {"x": "y"}})

    recording = record(program, answer=answer)
    assert recording.outputs_of("a")["flavorIds"] == {"spot.x": "spot.x"}
    assert recording.outputs_of("b")["flavorIds"] == {"y": "y"}
