"""A simulated GitHub in its first state, clients, a hook receiver, and runners."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from contract.github.harness import (
    RUNNER,
    WAIT_S,
    FindJobs,
    Finish,
    Forge,
    Receiver,
    StartRun,
    StartScript,
)

from localcloud.processes import wait_until


@pytest.fixture(scope="session")
def _process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    forge = Forge(tmp_path_factory.mktemp("github"))
    forge.start()
    yield forge
    forge.kill()


@pytest.fixture
def forge(_process: Forge) -> Forge:
    """A simulator in its first state."""
    _process.sim("POST", "/reset")
    return _process


@pytest.fixture
def api(forge: Forge) -> Iterator[httpx.Client]:
    """REST client of the user who owns everything."""
    with forge.api() as client:
        yield client


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A hook target."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def hook(api: httpx.Client, receiver: Receiver) -> dict[str, Any]:
    """An organisation hook for jobs and runs whose ping has arrived."""
    config = {"url": receiver.url, "content_type": "json", "secret": "hook-secret"}
    body = {"name": "web", "events": ["workflow_job", "workflow_run"], "config": config}
    made = api.post("/orgs/acme/hooks", json=body)
    assert made.status_code == 201, made.text
    receiver.next("ping")
    found: dict[str, Any] = made.json()
    return found


@pytest.fixture
def run_script(tmp_path: Path) -> Iterator[StartScript]:
    """Starts `run.sh` or `config.sh` in a folder of its own; ends what is left at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str, root: str = "runner", **env: str) -> subprocess.Popen[str]:
        folder = tmp_path / root
        folder.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [str(RUNNER / script), *arguments],
            env={
                "PATH": os.defpath,
                "RUNNER_ALLOW_RUNASROOT": "1",
                "RUNNER_STANDIN_ROOT": str(folder),
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def jit_runner(api: httpx.Client, run_script: StartScript) -> StartScript:
    """Registers an ephemeral runner and starts `run.sh` for it."""

    def start(name: str, labels: list[str], group: int = 1, **env: str) -> subprocess.Popen[str]:
        body = {"name": name, "runner_group_id": group, "labels": labels}
        made = api.post("/orgs/acme/actions/runners/generate-jitconfig", json=body)
        assert made.status_code == 201, made.text
        return run_script("run.sh", "--jitconfig", made.json()["encoded_jit_config"], root=name, **env)

    return start


@pytest.fixture
def start_run(forge: Forge) -> StartRun:
    """Starts a run of a workflow text in `acme/inference`."""

    def start(text: str) -> dict[str, Any]:
        found: dict[str, Any] = forge.sim("POST", "/runs", {"repository": "acme/inference", "workflow": text})
        return found

    return start


@pytest.fixture
def jobs_of(api: httpx.Client) -> FindJobs:
    """Current jobs of a run."""

    def find(run: dict[str, Any], **query: str) -> list[dict[str, Any]]:
        answer = api.get(f"/repos/acme/inference/actions/runs/{run['id']}/jobs", params=query)
        found: list[dict[str, Any]] = answer.json()["jobs"]
        return found

    return find


@pytest.fixture
def finished(api: httpx.Client) -> Finish:
    """Waits until a run is completed; gives its newest form."""

    def wait(run: dict[str, Any]) -> dict[str, Any]:
        path = f"/repos/acme/inference/actions/runs/{run['id']}"
        assert wait_until(lambda: api.get(path).json()["status"] == "completed", WAIT_S), api.get(path).text
        found: dict[str, Any] = api.get(path).json()
        return found

    return wait
