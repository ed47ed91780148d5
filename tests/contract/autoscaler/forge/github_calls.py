"""What the tests of GitHub's own ways ask of the simulator."""

from collections.abc import Callable
from typing import Any

import pytest
from contract.autoscaler.forge.labs import GitHubLab, new_name, pool

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.core.jobs import ForgeKind, JobKey
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.ports import Registration

JIT = "generate-jitconfig"
P1 = pool(ForgeKind.GITHUB)


def calls(github: GitHubLab, method: str, part: str) -> list[dict[str, Any]]:
    """Requests that the simulator saw."""
    log = github.simulator.sim("GET", "/log")
    return [line for line in log if line["method"] == method and part in line["path"]]


def register(github: GitHubLab, wanted: Pool = P1, key: JobKey | None = None) -> Registration:
    return github.forge.register(wanted, new_name(), key)


def failing(call: Callable[[], object]) -> PortError:
    with pytest.raises(PortError) as caught:
        call()
    return caught.value


def make_group(github: GitHubLab, name: str) -> int:
    made = github.api.post(f"/orgs/{github.owner}/actions/runner-groups", json={"name": name})
    assert made.status_code == 201, made.text
    return int(made.json()["id"])


def runner(github: GitHubLab, registration: Registration) -> dict[str, Any]:
    path = f"/orgs/{github.owner}/actions/runners/{registration.runner_id}"
    found: dict[str, Any] = github.api.get(path).json()
    return found
