"""The controller's boot scripts on a scratch machine: what must never happen to the state."""

import base64
import configparser
import dataclasses
import gzip
from pathlib import Path

import pytest
import yaml
from machine import Machine

from shadow_gpu_runners import boot, controller_boot, job_boot
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.controller_boot import ControllerSettings

VOLUME = "ad87e2d7-1967-488d-a95f-574b46c6d582"
DISKS = {
    "blkid": 'exit "$(cat "$FIXTURE/blkid")"',
    "mkfs.ext4": "",
    "mountpoint": "exit 1",
    "mount": "",
    "blockdev": 'stat -L -c %s "${!#}"',
    "dd": 'grep -q blkid "$FIXTURE/calls" && when=after || when=before\n'
    '[ "$when-${*: -2:1}" != "$(cat "$FIXTURE/unreadable")" ] || '
    '{ echo "dd: error reading: EIO" >&2; exit 1; }\n'
    'exec /usr/bin/dd "$@"',
}
SIZE_MIB = 64
PARTS = ("packages.sh", "metadata.sh", "secrets.sh", "service.sh")


@pytest.fixture
def controller(machine: Machine) -> Machine:
    for name, body in DISKS.items():
        path = machine.folder / "bin" / name
        path.write_text(f'#!/bin/bash\nprintf \'%s\\n\' "$(basename "$0") $*" >>"$FIXTURE/calls"\n{body}\n')
        path.chmod(0o755)
    machine.write("blkid", "0")
    machine.write("unreadable", "")
    with machine.put(f"dev/disk/by-id/virtio-{VOLUME[:20]}", "").open("wb") as disk:
        disk.truncate(SIZE_MIB * 1024**2)
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


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("where", ["count=4", f"skip={SIZE_MIB - 4}"])
def test_a_volume_that_cannot_be_read_is_never_taken_for_an_empty_one(
    controller: Machine, when: str, where: str
) -> None:
    """`blkid` says 2 as well where it cannot open or read the device."""
    controller.write("blkid", "2")
    controller.write("unreadable", f"{when}-{where}")
    assert "mkfs.ext4" not in attach(controller)
    assert "status=failed" in controller.console[-1]
    assert "cannot be read: dd: error reading: EIO" in controller.console[-1]


def test_a_volume_that_was_mounted_before_is_never_formatted(controller: Machine) -> None:
    attach(controller)
    controller.write("blkid", "2")
    assert "mkfs.ext4" not in attach(controller)


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


SECRET = "planted-secret-77"
SETTINGS = ControllerSettings(
    url="https://ci.example.com",
    config={"pools": [{"name": "a"}], "callback_key": "callback-key"},
    templates={"a": "#cloud-config\n"},
    secrets={"callback-key": SECRET},
    clouds_yaml="clouds: {}\n",
    wheel_url="https://example.com/x.whl",
    wheel_sha256="0" * 64,
    deployment="p.s",
)


def test_no_secret_is_in_the_configuration_or_the_environment() -> None:
    assert controller_boot.user_data(SETTINGS).count(SECRET) == 1
    assert SECRET not in str(controller_boot.configuration(SETTINGS))


def flaky(machine: Machine, failures: int) -> Path:
    """Return a boot script that fails so many times before it succeeds."""
    left = machine.folder / "left"
    left.write_text(str(failures))
    return machine.put("flaky.sh", f"left=$(cat {left})\necho $((left - 1)) >{left}\n((left <= 0))\n")


def pauses(machine: Machine) -> list[int]:
    return [int(call.split()[1]) for call in machine.calls if call.startswith("sleep ")]


def test_a_boot_that_fails_is_tried_again_later_each_time_and_says_so(machine: Machine) -> None:
    ran = machine.run("keep-trying.sh", str(flaky(machine, 9)))
    assert ran.returncode == 0, ran.stderr
    assert pauses(machine) == [15, 30, 60, 120, 240, 480, 900, 900, 900]
    told = [line.partition(" reason=") for line in machine.console]
    assert {head for head, _, _ in told} == {"shadow-runner: phase=retry status=wait"}
    assert told[2][2] == "attempt 3 failed; the next one starts by itself in 60 s"


def test_a_boot_that_succeeds_is_run_once(machine: Machine) -> None:
    assert machine.run("keep-trying.sh", str(flaky(machine, 0))).returncode == 0
    assert pauses(machine) == []
    assert machine.console == []


def test_a_failed_boot_is_told_by_its_phase_before_it_is_tried_again(machine: Machine) -> None:
    scripts = Path(boot.__file__).parent
    last = machine.folder / "bin/sleep"
    last.write_text("#!/bin/sh\nkill $PPID\n")  # the second pause would come from the second attempt
    machine.run("keep-trying.sh", str(scripts / "serve.sh"))
    failed, retry = machine.console[-2:]
    assert failed.startswith("shadow-runner: phase=start status=failed reason=")
    assert "serve.env is missing" in failed
    assert retry.startswith("shadow-runner: phase=retry status=wait reason=attempt 1 failed")


def test_the_unit_runs_the_scripts_that_the_machine_has_and_at_each_boot() -> None:
    document = yaml.safe_load(controller_boot.user_data(SETTINGS))
    files = {each["path"]: each for each in document["write_files"]}
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[method-assign,assignment]
    unit.read_string(files[f"/etc/systemd/system/{boot.SERVE_UNIT}"]["content"])
    shell, *scripts = unit["Service"]["ExecStart"].split()
    assert shell == "/bin/bash"
    assert [Path(script).name for script in scripts] == ["keep-trying.sh", "serve.sh"]
    assert all(files[script]["permissions"] == "0755" for script in scripts)
    assert unit["Service"]["Restart"] == "on-failure"
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert document["runcmd"][-1] == ["systemctl", "enable", "--now", boot.SERVE_UNIT]


def test_the_service_starts_only_where_the_metadata_route_has_been_closed(machine: Machine) -> None:
    """Were it enabled, it would start at later boots before the firewall's rule is there again."""
    machine.shell("write_unit", *PARTS)
    unit = machine.root("etc/systemd/system/shadow-autoscaler.service").read_text()
    assert "[Install]" not in unit
    steps = (Path(boot.__file__).parent / "serve.sh").read_text()
    assert steps.index("reject_metadata_for_the_service") < steps.index("start_service")


def job_template(number: int) -> str:
    config = f'[[runners]]\nname = "@HOSTNAME@"\ntoken = "@TOKEN@"\nlimit = {number}\n'
    settings = BootSettings(gpu_image=f"cuda:{number}", packages=job_boot.packages("gitlab"))
    return job_boot.user_data(job_boot.JobSettings("gitlab", config_toml=config, boot=settings))


@pytest.mark.parametrize("pools", [1, 20])
def test_the_templates_of_many_pools_fit_and_arrive_as_they_were(machine: Machine, pools: int) -> None:
    templates = {f"pool-{number}": job_template(number) for number in range(pools)}
    odd = {"odd": "", "odder": "- path: x\n- path: x\n\n- path: 'é'", "oddest": "no\u2028 part\r\n"}
    settings = dataclasses.replace(SETTINGS, templates=templates | odd)
    document = yaml.safe_load(controller_boot.user_data(settings))
    (packed,) = [each for each in document["write_files"] if each["path"].endswith("/templates.json")]
    machine.put("placed/templates.json", text_of(packed))
    ran = machine.shell('unpack_templates "$ROOT/placed"', *PARTS)
    assert ran.returncode == 0, ran.stderr
    found = {file.stem: file.read_bytes() for file in machine.root("placed/user-data").iterdir()}
    assert found == {name: text.encode() for name, text in (templates | odd).items()}
    assert not machine.root("placed/templates.json").exists()


def text_of(file: dict[str, str]) -> str:
    if "encoding" not in file:
        return file["content"]
    return gzip.decompress(base64.b64decode(file["content"])).decode()
