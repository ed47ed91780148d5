"""README's first command, as a newcomer runs it for the second time."""

import os
import subprocess

import pytest

from localcloud.paths import repository

pytestmark = [pytest.mark.localcloud, pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1900)]
COLUMNS = 120


def quickstart(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["scripts/quickstart", *arguments],
        cwd=repository(),
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )


def test_it_shows_each_jobs_fresh_machine_then_the_green_pipeline_the_cost_and_the_next_command() -> None:
    done = quickstart("--all")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for part in (
        "phase=ready status=ok",
        "the cloud says that it takes",
        "Simulated: GitHub and GitLab",
        "reclaimed",
        "GitHub, attempt 2",
        "on-demand, job-done",
        "no machine is left",
        "EUR less than on-demand alone",
        "nvidia-smi",
        "NVIDIA RTX 2000 Ada",
        "latency_ms_per_token",
        "Job succeeded",
        "success: test_inference",
        "shadow-gpu-runner-01",
        "EUR per month, all spot",
        "pulumi preview",
    ):
        assert part in done.stdout, part
    table = done.stdout.partition("Seconds from queued to")[2].partition("✓")[0].splitlines()
    assert len(table) > 10
    assert max(len(line.rstrip()) for line in table) <= COLUMNS
    again = quickstart()
    assert again.returncode == 0, again.stdout[-3000:] + again.stderr[-3000:]
    assert "to see it again: scripts/quickstart --all" in again.stdout
    assert "Seconds from queued to" not in again.stdout
    assert "success: test_inference" in again.stdout


def test_it_takes_no_other_arguments_and_says_what_to_edit_instead() -> None:
    done = quickstart("--count=3")
    assert done.returncode == 1
    assert "Pulumi.dev.yaml" in done.stderr


def test_it_says_what_it_does_when_asked() -> None:
    done = quickstart("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: scripts/quickstart" in done.stdout
    assert "Pulumi.dev.yaml" in done.stdout
