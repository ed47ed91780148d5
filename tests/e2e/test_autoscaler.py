"""The autoscaler as `pulumi up` makes it: its controller in a machine of its own, jobs of both forges."""

import base64
import hashlib
import hmac
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from localcloud import guests, packages
from localcloud.openstack import faults
from localcloud.paths import repository
from localcloud.quickstart import project
from localcloud.world import World
from shadow_autoscaler.adapters.openstack_access_rules import access_rules
from stack import autoscaled
from stack.autoscaled import Autoscaled, Facts
from stack.live import LiveStack, forge_owners, github, live_stack

pytestmark = [
    pytest.mark.localcloud,
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("autoscaler"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Autoscaled]:
    """The stack, once its controller answers; at the end it is torn down while a job still runs."""
    world = World.load()
    folder = tmp_path_factory.mktemp("autoscaler")
    with live_stack(folder, world, controller=access_rules()) as stack, forge_owners(stack):
        # A public repository would need a runner group that allows public ones.
        github(world, "PATCH", f"/api/v3/repos/{stack.owner}/inference", {"private": True})
        port, prefix = autoscaled.free_port(), stack.owner.replace("-", "")
        autoscaled.configure(stack, port, prefix)
        stack.up()
        made = Autoscaled(stack, f"http://127.0.0.1:{port}", prefix)
        made.until("the controller answers", lambda facts: facts)
        made.before = made.belongings()
        yield made
        made.start("unfinished")
        made.phase("unfinished", "busy")
        tear_down(stack)
        stack.stack.destroy()
        assert stack.tenant.leftovers() == []


def tear_down(stack: LiveStack) -> None:
    environment = {**os.environ, **stack.environment, "PYTHONPATH": str(repository() / "infra")}
    command = [sys.executable, "-m", "teardown", "--stack", stack.name, "--yes"]
    done = subprocess.run(
        command, cwd=stack.folder, env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_job_of_both_forges_gets_a_machine_of_its_own(site: Autoscaled, tmp_path: Path) -> None:
    run = site.start("one", "two", command="nvidia-smi -L")
    pushed = gitlab_job(site, tmp_path)
    site.succeeded(run)
    site.until("GitLab's job succeeds", lambda _facts: gitlab_status(site, pushed) == "success" or None)
    jobs = site.jobs(run)
    assert [job["conclusion"] for job in jobs] == ["success", "success"]
    vms = site.machines_of(run)
    assert sorted(vm["name"] for vm in vms) == sorted(job["runner_name"].rpartition("-")[0] for job in jobs)
    assert {vm["pool"] for vm in vms} == {"hub"}
    (lab,) = [vm for vm in site.status_now()["vms"] if vm["pool"] == "lab"]
    assert lab["market"] == "spot"
    site.nothing_left()
    for vm in [*vms, lab]:
        assert list(site.vm(vm["name"])["times"]) == [
            *("planned", "sent", "created", "active", "healthy", "ready", "busy", "ended", "deleted")
        ]


def gitlab_job(site: Autoscaled, folder: Path) -> str:
    """Push a pipeline with one job; return the commit."""
    (folder / ".gitlab-ci.yml").write_text("gpu:\n  tags: [shadow-gpu]\n  script: [nvidia-smi]\n")
    return project.push(site.stack.world, folder, group=site.stack.owner)


def gitlab_status(site: Autoscaled, sha: str) -> str:
    found = site.stack.gitlab().projects.get(f"{site.stack.owner}/inference")
    return "".join(job.status for job in found.jobs.list(get_all=True) if job.commit["id"] == sha)


def test_a_job_whose_spot_machine_is_taken_runs_again_once_and_on_demand(site: Autoscaled) -> None:
    run = site.start("taken")
    vm = site.phase("taken", "busy")
    assert vm["market"] == "spot"
    take_away(site, vm["name"])
    second = site.until("a second attempt", lambda _facts: second_machine(site, run))
    assert second["market"] == "on-demand"
    site.release(second["name"])
    site.succeeded(run)
    assert [job["run_attempt"] for job in site.jobs(run)] == [1, 2]
    site.nothing_left()
    first, last = sorted(site.machines_of(run), key=lambda each: each["name"])
    assert first["reclaim_at"] is not None
    assert (last["reclaim_at"], last["cause"]) == (None, "job-done")
    assert site.run(run)["run_attempt"] == 2


def take_away(site: Autoscaled, name: str) -> None:
    """Announce that the cloud takes a machine, take it, and let GitHub miss its runner."""
    server = site.stack.servers()[name]
    guests.reclaim(server, in_seconds=6)
    site.until("the controller hears of it", lambda facts: site.find(facts, name)["reclaim_at"])
    faults.preempt(server)
    site.until("the machine is gone", lambda _facts: name not in site.stack.servers() or None)
    for runner in site.stack.github(f"/orgs/{site.stack.owner}/actions/runners")["runners"]:
        if runner["name"].startswith(name):
            github(site.stack.world, "POST", "/_sim/lost-runners", {"name": runner["name"]})


def second_machine(site: Autoscaled, run: int) -> Facts | None:
    if site.run(run)["run_attempt"] < 2:
        return None
    running = [vm for vm in site.machines_of(run) if vm["phase"] == "busy" and vm["market"] == "on-demand"]
    return running[0] if running else None


def test_killing_the_service_after_every_step_loses_and_doubles_nothing(site: Autoscaled) -> None:
    run = site.start("survivor")
    steps = ("created", "active", "ready", "busy")
    killed: list[int] = []
    for step in steps:
        name = site.until(f"the machine is {step}", partial(reached, site, run, step))
        killed.append(site.kill())
    site.release(name)
    site.until("the job is done at GitHub", lambda _facts: site.run(run)["conclusion"])
    with suppress(AssertionError):  # it may be between two lives
        killed.append(site.kill())
    site.succeeded(run)
    site.nothing_left()
    (vm,) = site.machines_of(run)
    assert [job["runner_name"].rpartition("-")[0] for job in site.jobs(run)] == [vm["name"]]
    assert vm["cause"] == "job-done"
    assert len(set(killed)) == len(killed) >= len(steps)


def reached(site: Autoscaled, run: int, step: str, _facts: Facts) -> str | None:
    return next((vm["name"] for vm in site.machines_of(run) if step in vm["times"]), None)


def test_a_new_release_takes_over_while_a_job_runs(site: Autoscaled) -> None:
    run = site.start("upgraded")
    vm = site.phase("upgraded", "busy")
    known = {job["key"] for job in site.status_now()["jobs"]}
    volumes = site.data_volume()
    release = packages.built("next")
    site.stack.environment["SHADOW_AUTOSCALER_WHEEL"] = release.url
    old = site.stack.outputs()["autoscaler"]
    site.stack.up()
    new = site.stack.outputs()["autoscaler"]
    assert (new["version"], new["url"]) == (release.sha256, old["url"])
    assert new["server"] != old["server"]
    site.until("the new controller answers", lambda facts: facts)
    assert site.data_volume() == volumes
    assert known <= {job["key"] for job in site.status_now()["jobs"]}
    assert site.run(run)["status"] == "in_progress"
    site.release(vm["name"])
    site.succeeded(run)
    site.nothing_left()
    assert [each["name"] for each in site.machines_of(run)] == [vm["name"]]


def test_only_what_has_the_mark_is_removed(site: Autoscaled) -> None:
    """Three servers that no job has: without a mark, with another deployment's, with ours."""
    name = f"{site.prefix}-hub-abcde00001"
    marks = {"managed-by": "shadow-gpu-runners", "component": "autoscaler", "vm": name, "pool": "hub"}
    with site.stack.tenant.connect() as cloud:
        ids = [
            server(cloud, name, {}),
            server(cloud, f"{name}-2", {**marks, "deployment": "shadow-gpu-runners.other"}),
            server(cloud, f"{name}-3", {**marks, "deployment": "shadow-gpu-runners.test"}),
        ]
        site.until("ours is removed", lambda _facts: cloud.compute.find_server(ids[2]) is None or None)
        assert [cloud.compute.get_server(each).status for each in ids[:2]] == ["ACTIVE", "ACTIVE"]
        for each in ids[:2]:
            cloud.compute.delete_server(each)
    site.nothing_left()


def server(cloud: Any, name: str, marks: dict[str, str]) -> str:
    """Make a server without network; return its ID."""
    made = cloud.compute.create_server(
        name=name,
        flavor_id=cloud.compute.find_flavor("micro-c1m2").id,
        image_id=cloud.image.find_image("ubuntu-22.04-cuda").id,
        networks="none",
        metadata={f"shadow-gpu-runners.{key}": value for key, value in marks.items()},
    )
    return str(cloud.compute.wait_for_server(made, wait=120, interval=0.5).id)


def test_a_stranger_learns_nothing_and_no_secret_is_written_anywhere(site: Autoscaled) -> None:
    run = site.start("quiet")
    vm = site.phase("quiet", "busy")
    site.release(vm["name"])
    site.succeeded(run)
    site.nothing_left()
    for path in ("/", "/status.json", "/live"):
        shown = httpx.get(f"{site.url}{path}", timeout=20, trust_env=False)
        assert shown.status_code in {303, 401}
        assert "quiet" not in shown.text
    planted = secrets_of(site, [vm["name"]])
    places = {
        "journal": site.journal(),
        "controller's console": site.controller().console.read_text(errors="replace"),
        "outputs": str(site.stack.outputs()),
        **{
            str(path): path.read_text(errors="replace")
            for path in site.stack.folder.rglob("*")
            if path.is_file()
        },
        **{f"console of {name}": text for name, text in site.consoles.items()},
    }
    assert vm["name"] in site.consoles
    assert places["journal"]
    for what, secret in planted.items():
        assert [place for place, text in places.items() if secret in text] == [], what


def files(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_text(errors="replace")


def secrets_of(site: Autoscaled, machines: list[str]) -> dict[str, str]:
    environment, world = site.stack.environment, site.stack.world
    key = environment["SHADOW_AUTOSCALER_CALLBACK_KEY"]
    found = {
        "callback key": key,
        "status token": environment["SHADOW_AUTOSCALER_STATUS_TOKEN"],
        "GitHub's hook": environment["GITHUB_WEBHOOK_SECRET"],
        "GitLab's hook": environment["GITLAB_WEBHOOK_TOKEN"],
        "GitHub's token": world.github_token,
        "GitLab's token": world.gitlab_token,
    }
    for name in machines:
        digest = hmac.new(key.encode(), name.encode(), hashlib.sha256).digest()
        found[f"ticket of {name}"] = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return found
