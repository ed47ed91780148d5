"""The boot scripts on a scratch machine: what a good boot leaves behind; no fault lets the runner start."""

import dataclasses
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from machine import TOKEN, Machine

from shadow_gpu_runners import boot, boot_files
from shadow_gpu_runners.boot_files import NVIDIA_CONTAINER_TOOLKIT

PHASES = (
    "packages",
    "docker",
    "gpu_host",
    "gpu_container",
    "metadata",
    "config",
    "secrets",
    "runner",
    "ready",
)


def test_good_boot_reports_each_phase_and_starts_the_runner(machine: Machine) -> None:
    ran = machine.run()
    assert ran.returncode == 0, (ran.stdout, ran.stderr, machine.console)
    assert machine.started
    for phase in PHASES:
        assert any(
            line.startswith(f"shadow-runner: phase={phase} status=ok reason=") for line in machine.console
        )
    assert machine.console[-1].startswith("shadow-runner: phase=ready status=ok")


def test_config_is_private_and_carries_the_host_name(machine: Machine) -> None:
    machine.run()
    config = machine.root("etc/gitlab-runner/config.toml")
    assert config.read_text() == f'name = "shadow-gpu-runner-01"\ntoken = "{TOKEN}"\n'
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o700


def test_runner_starts_after_the_gate_the_closed_route_and_the_removed_copies(machine: Machine) -> None:
    copy = machine.put("var/lib/cloud/instances/i-1/user-data.txt", TOKEN)
    probe = machine.folder / "bin/systemctl"
    state = (
        'ls -d "$SHADOW_ROOT"/etc/shadow-runner/config.toml ' + f"{copy} 2>/dev/null; wc -l <$FIXTURE/rules"
    )
    text = probe.read_text().replace("enable)", f'enable) {{ {state}; }} >"$FIXTURE/at-start";')
    probe.write_text(text)
    assert machine.run().returncode == 0
    assert (machine.folder / "fixture/at-start").read_text() == "3\n"


def test_metadata_route_is_closed_for_containers_and_other_users(machine: Machine) -> None:
    machine.run()
    rules = (machine.folder / "fixture/rules").read_text().splitlines()
    assert rules == [
        "N DOCKER-USER",
        "OUTPUT -d 169.254.169.254 -m owner ! --uid-owner 0 -j REJECT",
        "DOCKER-USER -d 169.254.169.254 -j REJECT",
    ]


COPIES = (
    "var/lib/cloud/instances/i-1/user-data.txt",
    "var/lib/cloud/instances/i-1/user-data.txt.i",
    "var/lib/cloud/instances/i-1/cloud-config.txt",
    "var/lib/cloud/instances/i-1/vendor-data.txt",
    "var/lib/cloud/instances/i-1/obj.pkl",
    "var/lib/cloud/instances/i-1/scripts/part-001",
    "run/cloud-init/instance-data-sensitive.json",
    "run/cloud-init/combined-cloud-config.json",
)


@pytest.mark.parametrize("path", COPIES)
def test_copy_of_the_user_data_is_removed(machine: Machine, path: str) -> None:
    copy = machine.put(path, TOKEN)
    assert machine.run().returncode == 0
    assert not copy.exists()


def test_token_is_left_in_the_runner_configuration_only(machine: Machine) -> None:
    for path in COPIES:
        machine.put(path, TOKEN)
    ran = machine.run()
    holders = [p for p in machine.folder.rglob("*") if p.is_file() and TOKEN in p.read_text(errors="replace")]
    assert holders == [machine.root("etc/gitlab-runner/config.toml")]
    assert TOKEN not in ran.stdout + ran.stderr


def test_second_run_skips_what_is_done_and_checks_the_gpu_again(machine: Machine) -> None:
    machine.run()
    machine.write("calls", "")
    assert machine.run().returncode == 0
    assert not [call for call in machine.calls if call.startswith(("apt-get", "nvidia-ctk"))]
    assert [call for call in machine.calls if call.startswith("nvidia-smi")]
    rules = (machine.folder / "fixture/rules").read_text().splitlines()
    assert len(rules) == 3


FAULTS = {
    "absent": "gpu_host|nvidia-smi not found",
    "late": "gpu_host|exit status 9",
    "err": "gpu_host|ERR!",
    "reset": "gpu_host|requires reset",
    "none": "gpu_host|No devices were found",
    "mismatch": "gpu_host|Driver/library version mismatch",
    "hang": "gpu_host|no answer within 1 s",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_gpu_fault_keeps_the_runner_off_and_is_named(machine: Machine, fault: str) -> None:
    machine.write("gpu", fault)
    ran = machine.run()
    phase, reason = FAULTS[fault].split("|")
    assert ran.returncode == 1
    assert not machine.started
    assert machine.console[-1].startswith(f"shadow-runner: phase={phase} status=failed reason=gpu_unhealthy")
    assert reason in machine.console[-1]
    assert not machine.root("etc/gitlab-runner/config.toml").exists()


def test_nvidia_smi_that_cannot_be_killed_is_not_waited_for(machine: Machine) -> None:
    unkillable = machine.folder / "bin/timeout"
    unkillable.write_text("#!/bin/sh\nexec /bin/sleep 12\n")
    unkillable.chmod(0o755)
    assert machine.run().returncode == 1
    assert machine.console[-1].endswith("gpu_unhealthy after 0 s: no answer within 1 s")


def test_late_gpu_is_waited_for_and_said_once(machine: Machine) -> None:
    machine.write("gpu", "late")
    machine.settings = dataclasses.replace(machine.settings, gpu_timeout_s=3600)
    assert machine.run().returncode == 0
    waits = [line for line in machine.console if "status=wait" in line]
    assert len(waits) == 1
    assert "exit status 9" in waits[0]


@pytest.mark.parametrize(("expected", "shown"), [(2, 1), (1, 2), (1, 0)])
def test_wrong_number_of_gpus_keeps_the_runner_off(machine: Machine, expected: int, shown: int) -> None:
    machine.settings = dataclasses.replace(machine.settings, gpu_count=expected)
    machine.show_gpus(shown)
    assert machine.run().returncode == 1
    assert not machine.started
    assert f"{shown} of {expected} GPUs visible" in machine.console[-1]


CONTAINER_FAULTS = {
    "no-gpu": "could not select device driver",
    "fails": "docker pull cuda:12: manifest unknown",
    "other": "the container sees other GPUs or another driver than the host",
    "reload": "GPU lost after systemctl daemon-reload",
}


@pytest.mark.parametrize("fault", CONTAINER_FAULTS)
def test_fault_in_the_container_keeps_the_runner_off(machine: Machine, fault: str) -> None:
    machine.write("docker", fault)
    assert machine.run().returncode == 1
    assert not machine.started
    assert machine.console[-1].startswith("shadow-runner: phase=gpu_container status=failed")
    assert CONTAINER_FAULTS[fault] in machine.console[-1]


def test_kernel_module_of_another_version_is_seen(machine: Machine) -> None:
    machine.put(
        "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue\n"
    )
    assert machine.run().returncode == 1
    assert "library 550.127.05, kernel module NVRM version" in machine.console[-1]


def test_machine_without_gpu_passes_when_none_is_expected(machine: Machine) -> None:
    machine.settings = dataclasses.replace(machine.settings, gpu_count=0)
    machine.write("gpu", "absent")
    assert machine.run().returncode == 0
    assert not [call for call in machine.calls if call.startswith(("nvidia-smi", "docker run"))]


def test_apt_is_tried_again_and_credentials_are_masked(machine: Machine) -> None:
    machine.write("apt-failures", "2")
    assert machine.run().returncode == 0
    waits = [line for line in machine.console if "phase=packages status=wait" in line]
    assert waits
    assert "http://***@mirror.test" in waits[0]
    assert not any("pa55" in line for line in machine.console)


def test_apt_that_never_works_is_a_failure_with_its_reason(machine: Machine) -> None:
    machine.write("apt-failures", "99")
    assert machine.run().returncode == 1
    assert machine.console[-1].startswith(
        "shadow-runner: phase=packages status=failed reason=apt-get update: E:"
    )
    assert len([call for call in machine.calls if call.startswith("apt-get")]) == 6


def test_repository_is_added_only_with_the_expected_key(machine: Machine) -> None:
    machine.settings = dataclasses.replace(machine.settings, repositories=(NVIDIA_CONTAINER_TOOLKIT,))
    for file in boot_files.repository_files(machine.settings.repositories):
        machine.put(file.path.lstrip("/"), file.content)
    machine.write("fingerprint", "0" * 40)
    assert machine.run().returncode == 1
    assert "lacks fingerprint C95B321B" in machine.console[-1]
    listed = machine.root("etc/apt/sources.list.d/nvidia-container-toolkit.sources")
    assert not listed.exists()
    machine.write("fingerprint", NVIDIA_CONTAINER_TOOLKIT.fingerprint)
    assert machine.run().returncode == 0
    assert "Signed-By: /etc/apt/keyrings/nvidia-container-toolkit.asc" in listed.read_text()


def test_packages_are_installed_with_their_pins_and_held(machine: Machine) -> None:
    pinned = ("docker.io", "gitlab-runner=19.4.0-1")
    machine.settings = dataclasses.replace(machine.settings, packages=pinned)
    machine.run()
    installs = [call for call in machine.calls if call.startswith("apt-get") and " install " in call]
    assert installs[0].endswith("install --no-install-recommends docker.io gitlab-runner=19.4.0-1")
    assert "apt-mark hold nvidia-driver-550 docker.io gitlab-runner" in machine.calls


def test_proxy_reaches_docker_and_the_runner_without_being_in_a_unit(machine: Machine) -> None:
    machine.put("etc/shadow-runner/proxy.env", "https_proxy=http://ci:pa55@proxy.test:3128\n")
    assert machine.run().returncode == 0
    for unit in ("docker.service", "gitlab-runner.service"):
        text = machine.root(f"etc/systemd/system/{unit}.d/20-shadow-proxy.conf").read_text()
        assert text == "[Service]\nEnvironmentFile=/etc/shadow-runner/proxy.env\n"


def test_downloads_go_through_the_proxy_and_its_credential_is_in_no_command(machine: Machine) -> None:
    proxy = "http://ci:pa55@proxy.test:3128"
    machine.put("etc/shadow-runner/proxy.env", f"https_proxy={proxy}\nhttp_proxy={proxy}\n")
    machine.settings = dataclasses.replace(machine.settings, repositories=(NVIDIA_CONTAINER_TOOLKIT,))
    for file in boot_files.repository_files(machine.settings.repositories):
        machine.put(file.path.lstrip("/"), file.content)
    machine.write("fingerprint", NVIDIA_CONTAINER_TOOLKIT.fingerprint)
    for name in ("apt-get", "curl"):
        program = machine.folder / "bin" / name
        seen = f'echo "{name} $https_proxy $http_proxy" >>"$FIXTURE/proxied"'
        program.write_text(program.read_text().replace("\n", f"\n{seen}\n", 1))
    assert machine.run().returncode == 0
    proxied = (machine.folder / "fixture/proxied").read_text().splitlines()
    assert set(proxied) == {f"apt-get {proxy} {proxy}", f"curl {proxy} {proxy}"}
    assert not any("pa55" in line for line in [*machine.calls, *machine.console])


def test_guard_renews_the_rules_before_it_lets_the_runner_start(machine: Machine) -> None:
    machine.run()
    unit = machine.root("etc/systemd/system/shadow-runner-guard.service").read_text()
    assert "Before=gitlab-runner.service" in unit
    drop_in = machine.root("etc/systemd/system/gitlab-runner.service.d/10-shadow-runner.conf").read_text()
    assert "Requires=shadow-runner-guard.service" in drop_in
    machine.root("run/shadow-runner/gate-passed").unlink()
    machine.write("rules", "")
    machine.write("calls", "")
    machine.put("var/lib/cloud/instances/i-1/cloud-config.txt", TOKEN)
    copy = machine.put("var/lib/cloud/instances/i-1/user-data.txt", TOKEN)
    assert machine.run("guard.sh").returncode == 0
    assert machine.calls[0].startswith("iptables")
    assert "DOCKER-USER -d 169.254.169.254 -j REJECT" in (machine.folder / "fixture/rules").read_text()
    assert not copy.exists()
    assert machine.root("run/shadow-runner/gate-passed").exists()


def test_guard_waits_until_cloud_init_has_written_its_copies(machine: Machine) -> None:
    machine.run()
    machine.root("run/shadow-runner/gate-passed").unlink()
    instance = machine.root("var/lib/cloud/instances/i-1")
    instance.mkdir(parents=True)
    writes = f"echo {TOKEN} | tee {instance}/user-data.txt {instance}/cloud-config.txt"
    sleep = machine.folder / "bin/sleep"
    sleep.write_text(f"#!/bin/sh\n{writes}\n")
    assert machine.run("guard.sh").returncode == 0
    assert list(instance.iterdir()) == []
    assert any("phase=cloud_init status=wait" in line for line in machine.console)


def test_guard_does_not_wait_for_a_disabled_cloud_init(machine: Machine) -> None:
    machine.run()
    machine.root("run/shadow-runner/gate-passed").unlink()
    machine.root("var/lib/cloud/instances/i-1").mkdir(parents=True)
    machine.put("run/cloud-init/disabled", "")
    machine.write("calls", "")
    assert machine.run("guard.sh").returncode == 0
    assert not [call for call in machine.calls if call.startswith("sleep")]


def test_guard_fails_on_a_broken_gpu(machine: Machine) -> None:
    machine.run()
    machine.root("run/shadow-runner/gate-passed").unlink()
    machine.write("gpu", "err")
    assert machine.run("guard.sh").returncode == 1
    assert "phase=gpu_host status=failed" in machine.console[-1]


def test_guard_has_nothing_to_do_right_after_the_first_boot(machine: Machine) -> None:
    machine.run()
    machine.write("calls", "")
    assert machine.run("guard.sh").returncode == 0
    assert machine.calls == []


def test_runner_that_ends_at_once_is_a_failure_with_its_last_words(machine: Machine) -> None:
    machine.write("crash", "")
    assert machine.run().returncode == 1
    assert not machine.started
    expected = "reason=gitlab-runner stopped after its start: FATAL: unable to load config"
    assert machine.console[-1] == f"shadow-runner: phase=runner status=failed {expected}"


def test_missing_settings_are_named(machine: Machine) -> None:
    ran = machine.shell("load_settings")
    assert ran.returncode == 1
    assert "etc/shadow-runner/boot.env is missing" in machine.console[-1]


def test_report_falls_back_to_standard_output(machine: Machine) -> None:
    ran = machine.shell("SHADOW_CONSOLE=/nowhere/console; report ok 'two\nlines'")
    assert ran.stdout == "shadow-runner: phase=start status=ok reason=two lines\n"


def test_unreported_end_is_reported_as_a_failure(machine: Machine) -> None:
    ran = machine.shell("trap 'on_exit \"$?\"' EXIT; begin docker; false")
    assert ran.returncode == 1
    assert machine.console[-1].startswith(
        "shadow-runner: phase=docker status=failed reason=ended with status 1"
    )


def test_snap_docker_is_refused(machine: Machine) -> None:
    docker = machine.folder / "bin/docker"
    docker.unlink()
    target = machine.folder / "snap"
    target.write_text("#!/bin/sh\n")
    target.chmod(0o755)
    docker.symlink_to(target)
    fake = f"readlink() {{ echo /snap/bin/docker; }}; begin packages; refuse_snap_docker  # {target}"
    assert machine.shell(fake, "packages.sh").returncode == 1
    assert "Docker comes from a snap" in machine.console[-1]


def test_config_drive_is_detached(machine: Machine) -> None:
    device = machine.put("dev/sr0", "iso")
    link = machine.root("dev/disk/by-label/config-2")
    link.parent.mkdir(parents=True)
    link.symlink_to(device)
    switch = machine.put("sys/block/sr0/device/delete", "")
    assert machine.run().returncode == 0
    assert switch.read_text() == "1\n"


def test_scripts_pass_shellcheck() -> None:
    folder = Path(boot.__file__).parent
    scripts = sorted(str(path) for path in folder.glob("*.sh"))
    assert {Path(path).name for path in scripts} == {
        name for name in (*boot.SCRIPTS, *boot.JOB_SCRIPTS, *boot.SERVE_SCRIPTS) if name.endswith(".sh")
    }
    shellcheck = Path(sys.executable).with_name("shellcheck")
    checked = subprocess.run([shellcheck, "-x", *scripts], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
