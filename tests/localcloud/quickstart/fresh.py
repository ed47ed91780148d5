"""A machine for each job: pushes to both forges, takes one spot machine away, and shows every job's way."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

from localcloud import guests
from localcloud.openstack import clouds, faults
from localcloud.paths import repository, state_home
from localcloud.processes import wait_until
from localcloud.quickstart import controller, project, timeline
from localcloud.world import TENANT_CLOUD, World

_SOURCE = repository() / "examples" / "fresh-vm"
_VICTIM = "inference (long)"
_NOTICE_S = 6
_LIMIT_S = 900.0
"""For everything; two minutes are usual, a busy machine takes several times as long."""
_INTRO = (
    "Real in this step: the controller in its own machine, webhooks, OpenStack's services, each machine's "
    "boot and hand-over, the jobs' commands. Simulated: GitHub and GitLab, the hypervisor, the GPUs, and the "
    "reclaim, which this script orders."
)


class FreshError(RuntimeError):
    """The jobs did not end as they should; the text says which, and how far they were."""


def run(console: Console, world: World) -> None:
    """Run the demonstration.

    Raises:
        FreshError: a job was lost, or a machine stayed.
        ControllerError: the controller does not come alive.
    """
    console.print(_INTRO, style="dim", width=timeline.WIDTH)
    for phase in controller.boot():
        console.print(f"  │ controller: {phase}", markup=False, style="dim", soft_wrap=True)
    before = controller.status()
    known = {job["key"] for job in before["jobs"]} | {vm["name"] for vm in before["vms"]}
    began = time.monotonic()
    _push(console, world)
    timeline.show(console, _follow(console, world, began, known))
    _mark().write_text(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")


def was_shown(console: Console) -> bool:
    """Whether the demonstration ended well on this local cloud before; says so."""
    if not _mark().exists():
        return False
    console.print(
        f"shown at {_mark().read_text()} on this local cloud, which takes one to two minutes; "
        "to see it again: scripts/quickstart --all",
        soft_wrap=True,
    )
    return True


def _mark() -> Path:
    return state_home() / "fresh-shown"


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


def _follow(console: Console, world: World, began: float, known: set[str]) -> dict[str, Any]:
    """Print each change until every job has ended well and no machine is left; reclaim one on the way."""
    told: dict[str, str] = {}
    reclaimed = False
    while True:
        facts = controller.status()
        jobs = [job for job in facts["jobs"] if job["key"] not in known]
        machines = [vm for vm in facts["vms"] if vm["name"] not in known]
        passed = time.monotonic() - began
        for line in _news(jobs, machines, told):
            console.print(f"  {passed:6.1f} s  {line}", markup=False, soft_wrap=True)
        reclaimed = reclaimed or _reclaim(console, world, jobs, machines)
        if reclaimed and _all_done(jobs) and all(vm["phase"] == "gone" for vm in machines):
            return {**facts, "jobs": jobs, "vms": machines}
        if passed > _LIMIT_S or (not reclaimed and _over(jobs, machines)):
            raise FreshError(_unfinished(jobs, machines, passed))
        time.sleep(0.5)


def _over(jobs: list[dict[str, Any]], machines: list[dict[str, Any]]) -> bool:
    """Whether nothing more comes if no machine was reclaimed: all three jobs ended, no machine left."""
    ended = [job["status"] == "done" for job in jobs]
    return len(ended) >= 3 and all(ended) and all(vm["phase"] == "gone" for vm in machines)


def _unfinished(jobs: list[dict[str, Any]], machines: list[dict[str, Any]], passed: float) -> str:
    waits = [f"{job['name']}: {job['status']} {job['why']}" for job in jobs if job["status"] != "done"]
    waits += [f"{job['name']}: {job['conclusion']}" for job in jobs if job["status"] == "done"]
    rest = [f"{vm['name']}: {vm['phase']}" for vm in machines if vm["phase"] != "gone"]
    found = "; ".join([*waits, *rest]) or "the controller has heard of no job"
    return f"not as expected after {passed:.0f} s: {found}. The page at {controller.ADDRESS} says more"


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


def _reclaim(
    console: Console, world: World, jobs: list[dict[str, Any]], machines: list[dict[str, Any]]
) -> bool:
    """Take the spot machine of the long job away once it runs; whether that was done now."""
    running = {job["vm"] for job in jobs if job["name"] == _VICTIM and job["status"] == "running"}
    for vm in machines:
        if vm["name"] in running and vm["market"] == "spot" and vm["phase"] == "busy":
            server = controller.server_id(vm["name"])
            console.print(
                f"            the cloud says that it takes {vm['name']} in {_NOTICE_S} s, then takes it",
                style="yellow",
                soft_wrap=True,
            )
            with suppress(FileNotFoundError):
                guests.reclaim(server, in_seconds=_NOTICE_S)
            _wait_for_notice(vm["name"])
            faults.preempt(server, "delete")
            _lose_runner(world, vm["name"])
            return True
    return False


def _wait_for_notice(name: str) -> None:
    """Until the machine's own watcher has told the controller, at most half a minute."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = [vm for vm in controller.status()["vms"] if vm["name"] == name]
        if found and found[0]["reclaim_at"]:
            return
        time.sleep(0.3)


def _lose_runner(world: World, machine: str) -> None:
    """Let GitHub give up the machine's runner once it is silent, which takes ten minutes in reality."""
    with clouds.connect(TENANT_CLOUD) as connection:
        wait_until(lambda: connection.compute.find_server(machine) is None, 120)
    headers = {"Authorization": f"Bearer {world.github_token}"}
    address = f"{world.github_url}/api/v3/orgs/acme/actions/runners?per_page=100"
    answer = httpx.get(address, headers=headers, timeout=30, trust_env=False)
    for runner in answer.raise_for_status().json()["runners"]:
        if runner["name"].startswith(f"{machine}-"):
            _sim(world, "POST", "/_sim/lost-runners", {"name": runner["name"]})
