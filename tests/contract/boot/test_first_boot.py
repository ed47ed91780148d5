"""A good boot, played by real cloud-init: the runner starts last, and no job can reach its token."""

import pytest
from lab import Lab, console, report, sh

from localcloud.guests.guest import Guest
from shadow_gpu_runners import boot_files
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.config_toml import RunnerConfig, render

TOKEN = "glrt-planted-8d02f7"
IMAGE = "nvidia/cuda:12.1.0-base-ubuntu22.04"
PHASES = [
    "start",
    "packages",
    "docker",
    "gpu_host",
    "gpu_container",
    "metadata",
    "config",
    "secrets",
    "runner",
    "ready",
]
FILES = f"grep -rlsF {TOKEN} / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=.host"
PROCESSES = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guest(lab: Lab) -> Guest:
    return boot(lab, "shadow-gpu-runner-01")


def boot(lab: Lab, name: str) -> Guest:
    config = render(RunnerConfig(url="http://127.0.0.1:9/", token=TOKEN))
    settings = BootSettings(gpu_image=IMAGE, gpu_timeout_s=2, gpu_interval_s=1)
    made = lab.add(boot_files.user_data(config, settings), name=name)
    assert lab.booted(made)["state"] == "done", console(made)[-3000:]
    return made


def reboot(lab: Lab, guest: Guest) -> None:
    boots = report(guest)["boots"]
    lab.servers.reboot(guest.id)
    lab.until(lambda: report(guest).get("boots") == boots + 1, "the next boot")


def in_job(guest: Guest, script: str) -> str:
    """Run a script as a job's container does; its output, errors included."""
    return sh(guest, f"docker run --rm {IMAGE} sh -c {script!r} 2>&1").stdout


def test_each_phase_is_reported_in_order(lab: Lab, guest: Guest) -> None:
    lines = [line for line in console(guest).splitlines() if line.startswith("shadow-runner:")]
    done = [line.split()[1].removeprefix("phase=") for line in lines if " status=ok " in line]
    assert done[: len(PHASES)] == PHASES


def test_runner_is_named_after_its_machine(guest: Guest) -> None:
    config = (guest.root / "etc/gitlab-runner/config.toml").read_text()
    assert 'name = "shadow-gpu-runner-01"' in config
    assert sh(guest, "systemctl is-active gitlab-runner").stdout.strip() == "active"


def test_token_lies_in_one_private_file_and_in_no_process(guest: Guest) -> None:
    assert sh(guest, FILES).stdout.split() == ["/etc/gitlab-runner/config.toml"]
    processes = sh(guest, PROCESSES).stdout
    assert "gitlab-runner" in processes
    assert TOKEN not in processes
    assert sh(guest, "stat -c %a:%U /etc/gitlab-runner/config.toml").stdout.strip() == "600:root"
    assert TOKEN not in console(guest)


READS = {
    "metadata service": "curl -sS -m 5 $SHADOW_METADATA_URL/openstack/latest/user_data",
    "EC2 metadata": "curl -sS -m 5 $SHADOW_METADATA_URL/latest/user-data",
    "configuration": "cat /etc/gitlab-runner/config.toml",
    "template": "cat /etc/shadow-runner/config.toml",
    "cloud-init": "cat /var/lib/cloud/instance/user-data.txt",
}


@pytest.mark.parametrize("way", READS)
def test_job_cannot_read_the_token(guest: Guest, way: str) -> None:
    shown = in_job(guest, READS[way])
    assert TOKEN not in shown
    assert "reset by peer" in shown or "No such file" in shown


def test_other_users_cannot_reach_the_metadata_service_but_root_can(guest: Guest) -> None:
    ask = "curl -sS -m 5 $SHADOW_METADATA_URL/openstack/latest/meta_data.json 2>&1"
    assert "reset by peer" in sh(guest, ask, user="1000").stdout
    assert "shadow-gpu-runner-01" in sh(guest, ask).stdout


def test_second_run_of_the_script_changes_nothing(guest: Guest) -> None:
    before = sh(guest, "iptables -S; cat /etc/gitlab-runner/config.toml").stdout
    again = sh(guest, "bash /opt/shadow-runner/boot.sh; echo status $?")
    assert "status 0" in again.stdout, again.stdout + again.stderr
    assert sh(guest, "iptables -S; cat /etc/gitlab-runner/config.toml").stdout == before


def test_reboot_closes_the_route_before_the_runner_starts(lab: Lab, guest: Guest) -> None:
    reboot(lab, guest)
    lab.booted(guest)
    active = "systemctl is-active gitlab-runner"
    lab.until(
        lambda: sh(guest, active).stdout.strip() == "active", f"runner is back: {console(guest)[-2000:]}"
    )
    assert "-A DOCKER-USER -d 169.254.169.254/32 -j REJECT" in sh(guest, "iptables -S").stdout
    assert TOKEN not in in_job(guest, READS["metadata service"])
    assert sh(guest, "ls /var/lib/cloud/instance/user-data.txt").returncode != 0


def test_reboot_with_a_broken_gpu_leaves_the_runner_off(lab: Lab) -> None:
    guest = boot(lab, "shadow-gpu-runner-02")
    guest.set_fault("err")
    reboot(lab, guest)
    lab.until(lambda: report(guest).get("status") == "failed", f"the gate fails: {console(guest)[-2000:]}")
    assert sh(guest, "systemctl is-active gitlab-runner").stdout.strip() != "active"
