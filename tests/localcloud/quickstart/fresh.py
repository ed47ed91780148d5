"""A machine for each job: pushes to both forges, takes one spot machine away, and shows every job's way."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import httpx
from rich.console import Console

from localcloud import guests
from localcloud.openstack import faults
from localcloud.paths import repository
from localcloud.quickstart import controller, project, timeline
from localcloud.world import World

_SOURCE = repository() / "examples" / "fresh-vm"
_VICTIM = "inference (long)"
_LOST_AFTER_S = 8
_LIMIT_S = 420.0


class FreshError(RuntimeError):
    """The jobs did not end as they should; the text says which, and how far they were."""


def run(console: Console, world: World) -> None:
    """Run the demonstration.

    Raises:
        FreshError: a job was lost, or a machine stayed.
        ControllerError: the controller does not come alive.
    """
    for phase in controller.boot():
        console.print(f"  │ controller: {phase}", markup=False, style="dim", soft_wrap=True)
    began = time.time()
    with _impatient(world):
        _push(console, world)
        facts = _follow(console, began)
    timeline.show(console, facts, began)


@contextmanager
def _impatient(world: World) -> Iterator[None]:
    """Let the simulated GitHub give up a silent runner after seconds instead of ten minutes."""
    before = _sim(world, "GET", "/_sim/settings")
    _sim(world, "PATCH", "/_sim/settings", {"runner_lost_after_s": _LOST_AFTER_S})
    try:
        yield
    finally:
        _sim(world, "PATCH", "/_sim/settings", {"runner_lost_after_s": before["runner_lost_after_s"]})


def _sim(world: World, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {world.sim_token}"}
    url = f"{world.github_url}{path}"
    answer = httpx.request(method, url, json=body, headers=headers, timeout=30, trust_env=False)
    return answer.raise_for_status().json()


def _push(console: Console, world: World) -> None:
    names = (".github/workflows/gpu.yml", "benchmark.py")
    files = {name: (_SOURCE / name).read_text() for name in names}
    commit = {
        "repository": "acme/inference",
        "branch": "main",
        "message": "Run on fresh machines",
        "files": files,
    }
    pushed = _sim(world, "POST", "/_sim/files", commit)
    console.print(f"pushed {pushed['sha'][:8]} to GitHub's acme/inference: a matrix of two GPU jobs")
    sha = project.push(world, _SOURCE, branch="fresh-vm")
    console.print(f"pushed {sha[:8]} to GitLab's acme/inference: one GPU job")


def _follow(console: Console, began: float) -> dict[str, Any]:
    """Print each change until every job has ended well and no machine is left; reclaim one on the way."""
    told: dict[str, str] = {}
    reclaimed = False
    while True:
        facts = controller.status()
        jobs = [job for job in facts["jobs"] if job["queued_at"] >= began - 5]
        machines = [vm for vm in facts["vms"] if vm["times"].get("planned", 0) >= began - 5]
        for line in _news(jobs, machines, told):
            console.print(f"  {time.time() - began:6.1f} s  {line}", markup=False, soft_wrap=True)
        reclaimed = reclaimed or _reclaim(console, jobs, machines)
        if reclaimed and _all_done(jobs) and all(vm["phase"] == "gone" for vm in machines):
            return {**facts, "jobs": jobs, "vms": machines}
        if time.time() - began > _LIMIT_S:
            waits = [
                f"{job['name']}: {job['status']} {job['why']}" for job in jobs if job["status"] != "done"
            ]
            rest = [f"{vm['name']}: {vm['phase']}" for vm in machines if vm["phase"] != "gone"]
            raise FreshError(f"not done after {_LIMIT_S:.0f} s: {'; '.join([*waits, *rest]) or 'no reclaim'}")
        time.sleep(0.5)


def _all_done(jobs: list[dict[str, Any]]) -> bool:
    """Whether both GitHub jobs and the GitLab job have succeeded, the reclaimed one in its second attempt."""
    good = [job for job in jobs if job["conclusion"] == "success"]
    return len(good) >= 3 and all(job["status"] == "done" for job in jobs)


def _news(jobs: list[dict[str, Any]], machines: list[dict[str, Any]], told: dict[str, str]) -> Iterator[str]:
    for job in jobs:
        words = f"{job['status']} {job['conclusion']}".strip()
        if told.get(job["key"]) != words:
            told[job["key"]] = words
            yield f"{job['forge']} {job['name']}: {words}"
    for vm in machines:
        words = f"{vm['phase']} {vm['cause']}".strip()
        if told.get(vm["name"]) != words:
            told[vm["name"]] = words
            yield f"  {vm['name']} ({vm['market']} {vm['flavor']}): {words}"


def _reclaim(console: Console, jobs: list[dict[str, Any]], machines: list[dict[str, Any]]) -> bool:
    """Take the spot machine of the long job away once it runs; whether that was done now."""
    running = {job["vm"] for job in jobs if job["name"] == _VICTIM and job["status"] == "running"}
    for vm in machines:
        if vm["name"] in running and vm["market"] == "spot" and vm["phase"] == "busy":
            server = controller.server_id(vm["name"])
            console.print(f"  the cloud announces that it takes {vm['name']}, then takes it", style="yellow")
            with suppress(FileNotFoundError):
                guests.reclaim(server, in_seconds=6)
            _wait_for_notice(vm["name"])
            faults.preempt(server, "delete")
            return True
    return False


def _wait_for_notice(name: str) -> None:
    """Until the machine's own watcher has told the controller, at most a quarter of a minute."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        found = [vm for vm in controller.status()["vms"] if vm["name"] == name]
        if found and found[0]["reclaim_at"]:
            return
        time.sleep(0.3)
