"""Each GPU fault seen in the field, played in a guest by its real cloud-init: the runner never starts."""

import dataclasses

import pytest
from lab import Lab, console, report, sh

from localcloud.guests.guest import Guest
from shadow_gpu_runners import boot_files
from shadow_gpu_runners.boot_files import BootSettings
from shadow_gpu_runners.config_toml import RunnerConfig, render

CONFIG = render(RunnerConfig(url="http://127.0.0.1:9/", token="glrt-planted"))
SETTINGS = BootSettings(gpu_image="nvidia/cuda:12.1.0-base-ubuntu22.04", gpu_timeout_s=2, gpu_interval_s=1)
TWO_CARDS = "edge-c8m32-gpu-a4500-2"
FAULTS = {
    "missing": "gpu_host|nvidia-smi not found",
    "exit9": "gpu_host|couldn't communicate with the NVIDIA driver",
    "late:3600": "gpu_host|couldn't communicate with the NVIDIA driver",
    "err": "gpu_host|ERR!",
    "one-of-two": "gpu_host|1 of 2 GPUs visible",
    "hang": "gpu_host|no answer within 30 s",
    "driver-mismatch": "gpu_host|",
    "container-only": "gpu_container|driver not loaded",
    "daemon-reload": "gpu_container|GPU lost after systemctl daemon-reload",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guests(lab: Lab) -> dict[str, Guest]:
    """Boot all at the same time: each waits for something else."""
    return {fault: _boot(lab, fault) for fault in FAULTS}


def _boot(lab: Lab, fault: str) -> Guest:
    cards = 2 if fault == "one-of-two" else 1
    user_data = boot_files.user_data(CONFIG, dataclasses.replace(SETTINGS, gpu_count=cards))
    flavor = TWO_CARDS if cards == 2 else "edge-c4m16-gpu-2000-1"
    return lab.add(
        user_data, name=f"gpu-{fault.partition(':')[0]}", flavor=flavor, **{"sim.gpu_fault": fault}
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_reported_and_the_runner_stays_off(lab: Lab, guests: dict[str, Guest], fault: str) -> None:
    guest = guests[fault]
    lab.booted(guest)
    lab.until(lambda: report(guest).get("status") == "failed", console(guest)[-2000:])
    phase, reason = FAULTS[fault].split("|")
    assert report(guest)["phase"] == phase
    assert "gpu_unhealthy" in report(guest)["reason"]
    assert reason in report(guest)["reason"]
    assert sh(guest, "systemctl is-active gitlab-runner").stdout.strip() in {"inactive", "failed"}
    assert not (guest.root / "etc/gitlab-runner/config.toml").exists()
