"""Faults in the middle: `up` goes on from wherever it was stopped."""

import signal
import subprocess
import sys
import time

import pytest

from localcloud.openstack import faults
from localcloud.paths import repository
from stack.live import LiveStack, cli

pytestmark = [pytest.mark.localcloud, pytest.mark.engine]


def test_up_goes_on_after_a_host_failed_an_instance(stack: LiveStack) -> None:
    stack.config["pools"][0]["count"] = 2
    faults.switch_on("spawn_fail", "no power", project_id=stack.tenant.project_id)
    try:
        failed = cli(stack, "up", "--yes", "--stack", stack.select(), check=False)
    finally:
        faults.switch_off("spawn_fail", project_id=stack.tenant.project_id)
    assert failed.returncode != 0
    assert "gpu-01" in failed.stdout
    assert "Traceback" not in failed.stdout
    stack.up(refresh=True)
    assert sorted(stack.servers()) == ["gpu-01", "gpu-02"]
    stack.stack.destroy()
    assert stack.tenant.leftovers() == []


def test_up_killed_half_way_is_continued_by_the_next_up(stack: LiveStack) -> None:
    stack.config["pools"][0]["count"] = 2
    name = stack.select()
    faults.switch_on("spawn_delay", 3, project_id=stack.tenant.project_id)
    try:
        running = subprocess.Popen(
            ["pulumi", "up", "--yes", "--skip-preview", "--stack", name],
            cwd=stack.folder,
            env=stack.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _wait_for_a_server(stack, running)
        running.send_signal(signal.SIGKILL)
        running.wait()
    finally:
        faults.switch_off("spawn_delay", project_id=stack.tenant.project_id)
    cli(stack, "cancel", "--yes", "--stack", name)
    recovered = subprocess.run(
        [sys.executable, "-m", "recovery", "--stack", name],
        cwd=stack.folder,
        env={**stack.environment, "PYTHONPATH": str(repository() / "infra")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "gpu-01: exists, taken into the state" in recovered.stdout
    stack.up(refresh=True)
    assert sorted(stack.servers()) == ["gpu-01", "gpu-02"]
    stack.stack.destroy()
    assert stack.tenant.leftovers() == []


def _wait_for_a_server(stack: LiveStack, running: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while not stack.servers():
        assert running.poll() is None, "pulumi ended before it asked for a server"
        assert time.monotonic() < end, "no server was asked for"
        time.sleep(0.2)
