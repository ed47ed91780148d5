"""The controller's boot scripts on a scratch machine: what must never happen to the state."""

from pathlib import Path

import pytest
from machine import Machine

from shadow_gpu_runners import controller_boot
from shadow_gpu_runners.controller_boot import ControllerSettings

VOLUME = "ad87e2d7-1967-488d-a95f-574b46c6d582"
DISKS = {
    "blkid": 'exit "$(cat "$FIXTURE/blkid")"',
    "mkfs.ext4": "",
    "mountpoint": "exit 1",
    "mount": "",
}
PARTS = ("packages.sh", "metadata.sh", "secrets.sh", "service.sh")


@pytest.fixture
def controller(machine: Machine) -> Machine:
    for name, body in DISKS.items():
        path = machine.folder / "bin" / name
        path.write_text(f'#!/bin/bash\nprintf \'%s\\n\' "$(basename "$0") $*" >>"$FIXTURE/calls"\n{body}\n')
        path.chmod(0o755)
    machine.write("blkid", "0")
    machine.put(f"dev/disk/by-id/virtio-{VOLUME[:20]}", "")
    machine.put("etc/fstab", "")
    return machine


def attach(controller: Machine, volume: str = VOLUME) -> str:
    ran = controller.shell(f"SHADOW_DATA_VOLUME={volume}\nmount_data", *PARTS)
    assert ran.returncode in {0, 1}, ran.stderr
    return "\n".join(controller.calls)


@pytest.mark.parametrize(("found", "formatted"), [("0", False), ("2", True), ("4", False), ("8", False)])
def test_only_a_volume_without_any_content_is_formatted(
    controller: Machine, found: str, *, formatted: bool
) -> None:
    controller.write("blkid", found)
    calls = attach(controller)
    assert ("mkfs.ext4" in calls) is formatted
    assert "\nmount " in calls


def test_the_volume_is_mounted_again_at_later_boots(controller: Machine) -> None:
    attach(controller)
    attach(controller)
    fstab = controller.root("etc/fstab").read_text().splitlines()
    assert len(fstab) == 1
    assert f"virtio-{VOLUME[:20]}" in fstab[0]


def test_a_volume_that_does_not_show_up_stops_the_boot(controller: Machine) -> None:
    calls = attach(controller, "0000-not-there")
    assert "mkfs.ext4" not in calls
    assert "status=failed" in controller.console[-1]
    assert "does not show up" in controller.console[-1]


def test_a_wheel_with_another_checksum_is_not_installed(controller: Machine) -> None:
    settings = f"SHADOW_WHEEL_SHA256={'0' * 64} SHADOW_WHEEL_URL=http://127.0.0.1:9/x.whl"
    controller.shell(f"export {settings}\ninstall_service", *PARTS)
    assert "not fetched, or its SHA-256 is not 0000" in controller.console[-1]
    assert not any(Path(controller.root("opt")).glob("shadow-autoscaler/*/bin/pip"))


def test_the_service_may_write_to_its_state_alone(controller: Machine) -> None:
    controller.shell("write_unit", *PARTS)
    unit = controller.root("etc/systemd/system/shadow-autoscaler.service").read_text()
    for line in (
        "User=shadow-autoscaler",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
    ):
        assert f"{line}\n" in unit
    assert "ReadWritePaths=/var/lib/shadow-autoscaler\n" in unit


def test_no_secret_is_in_the_configuration_or_the_environment() -> None:
    secret = "planted-secret-77"
    settings = ControllerSettings(
        url="https://ci.example.com",
        config={"pools": [{"name": "a"}], "callback_key": "callback-key"},
        templates={"a": "#cloud-config\n"},
        secrets={"callback-key": secret},
        clouds_yaml="clouds: {}\n",
        wheel_url="https://example.com/x.whl",
        wheel_sha256="0" * 64,
        deployment="p.s",
    )
    text = controller_boot.user_data(settings)
    assert text.count(secret) == 1
    assert secret not in str(controller_boot.configuration(settings))
