"""A live stack with an autoscaler in it: its controller, jobs at both forges, and what machines leave."""

import os
import secrets
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
import psutil
import pytest

from localcloud import packages
from localcloud.guests.guest import Guest
from stack.live import LiveStack, github

T = TypeVar("T")
Facts = Mapping[str, Any]
SPOT_THEN_ON_DEMAND = ["edge-c4m16-gpu-2000-1"]
PATIENCE_S = 420.0
"""For one step of one machine; generous, since the machine that runs the tests may be busy."""
_UNTIL_RELEASED = "until test -e /tmp/released; do sleep 0.2; done"


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def workflow(*names: str, command: str = _UNTIL_RELEASED) -> str:
    """Return a GitHub workflow with a matrix of these jobs, each of which ends when it is released."""
    return (
        "name: gpu\non: workflow_dispatch\njobs:\n  work:\n    strategy:\n      fail-fast: false\n"
        f"      matrix: {{name: [{', '.join(names)}]}}\n"
        "    runs-on: [self-hosted, shadow-gpu]\n    steps:\n      - run: nvidia-smi\n"
        f"      - run: {command}\n"
    )


def configure(stack: LiveStack, port: int, prefix: str) -> None:
    """Give the stack an autoscaler for both forges, and its secrets."""
    world, owner = stack.world, stack.owner
    stack.config |= {
        "pools": [],
        "github": {"owner": owner, "baseUrl": world.github_url, "repositories": ["inference"]},
        "gitlab": {"url": world.gitlab_url, "project": f"{owner}/inference"},
        "autoscaler": {
            "url": f"http://127.0.0.1:{port}",
            "flavor": "edge-c2m4",
            "cloud": f"{stack.tenant.cloud}-controller",
            "tls": {"mode": "none"},
            "options": {
                "listen": {"port": port},
                "name_prefix": prefix,
                "sweep_grace": "5s",
                "intervals": {"tick": "2s", "servers": "5s", "jobs": "10s", "leftovers": "5s"},
            },
            "pools": [
                _pool("hub", "github", ["self-hosted", "shadow-gpu"]),
                _pool("lab", "gitlab", ["shadow-gpu"]),
            ],
        },
    }
    stack.environment |= {
        "GITLAB_WEBHOOK_TOKEN": secrets.token_hex(20),
        "SHADOW_AUTOSCALER_CALLBACK_KEY": secrets.token_hex(20),
        "SHADOW_AUTOSCALER_STATUS_TOKEN": secrets.token_hex(20),
        "SHADOW_AUTOSCALER_WHEEL": packages.built().url,
        "SHADOW_AUTOSCALER_INDEX": f"{packages.ADDRESS}/simple/",
    }


def _pool(name: str, forge: str, labels: list[str]) -> dict[str, Any]:
    return {"name": name, "forge": forge, "labels": labels, "flavors": SPOT_THEN_ON_DEMAND, "max": 3}


@dataclass(slots=True)
class Autoscaled:
    """The stack once it is up."""

    stack: LiveStack
    url: str
    prefix: str
    before: Counter[str] = field(default_factory=Counter[str])
    """What the stack itself has in the cloud, by kind."""
    consoles: dict[str, str] = field(default_factory=dict[str, str])
    """Newest console text of each machine of a job, kept while it lives."""

    # What the controller says.

    def status(self) -> Facts | None:
        """Return what the status page shows; None while nobody answers."""
        headers = {"Authorization": f"Bearer {self.stack.environment['SHADOW_AUTOSCALER_STATUS_TOKEN']}"}
        with suppress(httpx.TransportError):
            answer = httpx.get(f"{self.url}/status.json", headers=headers, timeout=20, trust_env=False)
            if answer.status_code == 200:
                found: Facts = answer.json()
                return found
        return None

    def until(self, what: str, found: Callable[[Facts], T | None], seconds: float = PATIENCE_S) -> T:
        """Return what `found` makes of the facts; fail after `seconds` and say how things are."""
        end, facts = time.monotonic() + seconds, None
        while time.monotonic() < end:
            facts = self.status() or facts
            self._keep_consoles(facts)
            if facts is not None and (result := found(facts)) is not None:
                return result
            time.sleep(0.25)
        pytest.fail(f"not within {seconds:.0f} s: {what}\n{self.told(facts)}")

    def told(self, facts: Facts | None) -> str:
        """Return jobs, machines, alarms and the end of the controller's journal, for a failure's text."""
        shown = facts or {"jobs": [], "vms": [], "alarms": []}
        lines = [f"job {job['name']} {job['status']} {job['vm']} {job['why']}" for job in shown["jobs"]]
        lines += [f"vm {vm['name']} {vm['market']} {vm['phase']} {vm['cause']}" for vm in shown["vms"]]
        lines += [f"alarm {alarm['subject']}: {alarm['text']}" for alarm in shown["alarms"]]
        return "\n".join([*lines, self.journal()[-3000:]])

    def phase(self, job_name: str, *phases: str, run: str = "") -> Facts:
        """Wait until the machine of a job is in one of these phases; return the machine."""

        def found(facts: Facts) -> Facts | None:
            jobs = [job for job in facts["jobs"] if job_name in job["name"] and run in job["key"]]
            names = {job["vm"] for job in jobs if job["vm"]}
            return next((vm for vm in facts["vms"] if vm["name"] in names and vm["phase"] in phases), None)

        return self.until(f"{job_name}'s machine is {' or '.join(phases)}", found)

    def machines_of(self, run: int) -> list[Facts]:
        """Return every machine, gone or not, that was made for a GitHub run's jobs."""
        facts = self.until("the controller answers", lambda shown: shown)
        keys = {job["key"] for job in facts["jobs"] if f"{run}" in job["url"]}
        return [vm for vm in facts["vms"] if vm["job"] in keys]

    def status_now(self) -> Facts:
        """Return the facts as soon as the controller answers."""
        return self.until("the controller answers", lambda facts: facts)

    @staticmethod
    def find(facts: Facts, name: str) -> Facts:
        """Return a machine's facts."""
        found: Facts = next(vm for vm in facts["vms"] if vm["name"] == name)
        return found

    def vm(self, name: str) -> Facts:
        """Return what the controller says of a machine now."""
        return self.find(self.status_now(), name)

    def data_volume(self) -> list[str]:
        """Return the IDs of the volumes that hold the controller's state."""
        with self.stack.tenant.connect() as cloud:
            return [each.id for each in cloud.block_storage.volumes() if each.name == "autoscaler-data"]

    # Its machine.

    def controller(self) -> Guest:
        """Return the controller's guest."""
        return Guest(self.stack.servers()["autoscaler"])

    def journal(self) -> str:
        """Return all that the service has logged since its machine was made."""
        with suppress(KeyError, FileNotFoundError):
            path = self.controller().root / "var/log/journal/shadow-autoscaler.service.log"
            return path.read_text(errors="replace")
        return ""

    def kill(self) -> int:
        """End the service's process by SIGKILL; return its number once it is gone."""
        init = self.controller().process()
        assert init is not None, "the controller's guest does not run"
        inside = psutil.Process(init.pid).children(recursive=True)
        found = [one for one in inside if "serve" in one.cmdline() and "--config" in one.cmdline()]
        assert found, "no process of the service"
        for process in found:
            os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs(found, timeout=30)
        return found[0].pid

    # Jobs.

    def start(self, *names: str, command: str = _UNTIL_RELEASED) -> int:
        """Start a GitHub run with a matrix of these jobs; return its ID."""
        path = f".github/workflows/{'-'.join(names)}.yml"
        body = {
            "repository": f"{self.stack.owner}/inference",
            "path": path,
            "workflow": workflow(*names, command=command),
            "event": "workflow_dispatch",
        }
        return int(github(self.stack.world, "POST", "/_sim/runs", body)["id"])

    def release(self, vm: str) -> None:
        """Let the job on that machine end."""
        (Guest(self.stack.servers()[vm]).root / "tmp/released").touch()

    def run(self, run: int) -> Any:
        """Return a GitHub run as the API shows it."""
        return self.stack.github(f"/repos/{self.stack.owner}/inference/actions/runs/{run}")

    def jobs(self, run: int) -> list[Any]:
        """Return the jobs of all attempts of a run."""
        path = f"/repos/{self.stack.owner}/inference/actions/runs/{run}/jobs?filter=all&per_page=100"
        found: list[Any] = self.stack.github(path)["jobs"]
        return found

    def succeeded(self, run: int) -> None:
        """Wait until a run has ended well."""

        def ended(_facts: Facts) -> bool | None:
            shown = self.run(run)
            assert shown["conclusion"] in {None, "success", "failure"}, shown["conclusion"]
            return shown["conclusion"] == "success" or None

        self.until(f"run {run} succeeds", ended)

    # What is left.

    def belongings(self) -> Counter[str]:
        """Return the number of things of each kind that the tenant has."""
        return Counter(line.split()[0] for line in self.stack.tenant.leftovers())

    def nothing_left(self) -> None:
        """Wait until every machine is gone, then find nothing of any at the cloud or the forges."""

        def clean(facts: Facts) -> bool | None:
            gone = all(vm["phase"] == "gone" for vm in facts["vms"])
            return (gone and self.belongings() == self.before and not self.registrations()) or None

        self.until(f"nothing is left but {dict(self.before)}; there are {self.belongings()}", clean)

    def registrations(self) -> list[Any]:
        """Return every runner registered at GitHub, and every manager of the runners at GitLab."""
        found: list[Any] = self.stack.github(f"/orgs/{self.stack.owner}/actions/runners")["runners"]
        client = self.stack.gitlab()
        for runner in client.projects.get(f"{self.stack.owner}/inference").runners.list(get_all=True):
            managers: Any = client.http_list(f"/runners/{runner.id}/managers", get_all=True)
            found += managers
        return found

    def _keep_consoles(self, facts: Facts | None) -> None:
        live = [vm["name"] for vm in (facts or {"vms": []})["vms"] if vm["phase"] in {"ready", "busy"}]
        if set(live) <= self.consoles.keys():
            return
        for name, server in self.stack.servers().items():
            with suppress(FileNotFoundError):
                if name in live:
                    self.consoles[name] = Guest(server).console.read_text(errors="replace")
