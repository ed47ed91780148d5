"""A forge and the world around it, the same verbs for both simulators and the fakes."""

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import httpx
from contract.github.harness import Forge as GitHubSimulator

from localcloud.gitlab.testing import FakeRunner
from localcloud.gitlab.testing import Server as GitLabSimulator
from shadow_autoscaler.adapters.github import Account, Connection, GitHubForge, Token
from shadow_autoscaler.adapters.gitlab import GitLabForge, RunnerToken
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.machines import Market
from shadow_autoscaler.core.pools import Pool, Rung
from shadow_autoscaler.ports import Forge, Registration
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.forge import FakeForge
from shadow_autoscaler.testing.github import FakeGitHub
from shadow_autoscaler.testing.gitlab import FakeGitLab

LABELS = ("self-hosted", "linux", "shadow-gpu")
PREFIX = "gpu"
DEPLOYMENT = "contract"


def pool(kind: ForgeKind, **change: Any) -> Pool:
    """A pool that takes the labs' jobs."""
    rung = Rung("edge-preemptible-c4m16-gpu-2000-1", Market.SPOT)
    return replace(Pool("p1", kind, LABELS, (rung,), 3), **change)


def new_name() -> str:
    """A runner name that nobody has used."""
    return f"{PREFIX}-p1-{secrets.token_hex(4)}-1"


class Lab(Protocol):
    """What a contract test does to the world."""

    kind: ForgeKind

    @property
    def forge(self) -> Forge:
        """The forge under test."""
        ...

    def queue(self, count: int = 1) -> list[JobKey]:
        """Have so many jobs of one run wait."""
        ...

    def start(self, registration: Registration) -> JobKey | None:
        """Bring a runner online with what it was given; it takes a job if one fits."""
        ...

    def finish(self, key: JobKey, *, good: bool = True) -> None:
        """End a running job."""
        ...


@dataclass
class GitHubLab:
    """The simulated GitHub, with an organisation of its own."""

    simulator: GitHubSimulator
    owner: str = field(default_factory=lambda: f"lab-{secrets.token_hex(4)}")
    kind: ForgeKind = ForgeKind.GITHUB
    sessions: dict[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])

    def __post_init__(self) -> None:
        self.simulator.sim("POST", "/accounts", {"login": self.owner, "type": "Organization", "plan": "team"})
        self.api = self.simulator.api()
        self.repository("jobs")
        self.forge = self.make()

    def make(self, **change: Any) -> GitHubForge:
        """A forge of this organisation."""
        given: dict[str, Any] = {
            "accounts": (Account(self.owner),),
            "credential": Token(lambda: self.api.headers["authorization"].removeprefix("Bearer ")),
            "deployment_id": DEPLOYMENT,
            "connection": Connection(f"{self.simulator.url}/api/v3"),
        }
        return GitHubForge(**given | change)

    @property
    def project(self) -> str:
        """The repository whose jobs wait."""
        return f"{self.owner}/jobs"

    def repository(self, name: str) -> None:
        """Make a repository."""
        made = self.api.post(f"/orgs/{self.owner}/repos", json={"name": name, "private": True})
        assert made.status_code == 201, made.text

    def run(self, text: str, project: str = "") -> dict[str, Any]:
        """Start a run of a workflow text."""
        body = {"repository": project or self.project, "workflow": text}
        found: dict[str, Any] = self.simulator.sim("POST", "/runs", body)
        return found

    def queue(self, count: int = 1) -> list[JobKey]:
        """One run with a matrix."""
        numbers = ", ".join(map(str, range(count)))
        labels = ", ".join(LABELS)
        run = self.run(
            "name: ci\non: push\njobs:\n  test:\n"
            f"    strategy: {{fail-fast: false, matrix: {{n: [{numbers}]}}}}\n"
            f"    runs-on: [{labels}]\n    steps: [{{run: echo hello}}]\n"
        )
        return [self.key(job) for job in self.jobs_of(run["id"])]

    def jobs_of(self, run_id: int) -> list[dict[str, Any]]:
        """Jobs of a run's newest attempt."""
        answer = self.api.get(f"/repos/{self.project}/actions/runs/{run_id}/jobs", params={"per_page": 100})
        found: list[dict[str, Any]] = answer.json()["jobs"]
        return found

    def key(self, job: Mapping[str, Any]) -> JobKey:
        """Identity of a job."""
        return JobKey(self.kind, self.project, job["id"], job["run_attempt"])

    def start(self, registration: Registration) -> JobKey | None:
        """Speak the runner's protocol up to the start of a job."""
        session = self.connect(registration)
        message = self._runner("GET", "/message", session, params={"wait_s": "0"})
        if message.status_code == 204:
            return None
        number = message.json()["job_id"]
        self._runner("POST", f"/jobs/{number}/acquire", session)
        self.sessions[number] = (session, number)
        shown = self.api.get(f"/repos/{self.project}/actions/jobs/{number}").json()
        return self.key(shown)

    def connect(self, registration: Registration) -> str:
        """Come online with a JIT configuration."""
        files = json.loads(base64.b64decode(registration.config["jit_config"]))
        credentials = json.loads(base64.b64decode(files[".credentials"]))["data"]
        body = {
            "runner_id": int(credentials["clientId"]),
            "secret": credentials["secret"],
            "version": "2.335.0",
        }
        answer = httpx.post(f"{self.simulator.url}/_runner/sessions", json=body, trust_env=False)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["session"])

    def finish(self, key: JobKey, *, good: bool = True) -> None:
        """The runner reports the end."""
        session, number = self.sessions.pop(key.job_id)
        conclusion = "success" if good else "failure"
        self._runner("POST", f"/jobs/{number}/complete", session, json={"conclusion": conclusion})

    def _runner(self, method: str, path: str, session: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {session}"}
        url = f"{self.simulator.url}/_runner{path}"
        answer = httpx.request(method, url, headers=headers, trust_env=False, timeout=30, **more)
        assert answer.is_success, answer.text
        return answer

    def close(self) -> None:
        """Close connections."""
        self.forge.close()
        self.api.close()


@dataclass
class GitLabLab:
    """The simulated GitLab, with a project in a group of its own and a runner for the pool."""

    simulator: GitLabSimulator
    kind: ForgeKind = ForgeKind.GITLAB
    started: dict[int, tuple[FakeRunner, dict[str, Any]]] = field(
        default_factory=dict[int, tuple[FakeRunner, dict[str, Any]]]
    )

    def __post_init__(self) -> None:
        self.project_id = self.simulator.seed()
        shown = self.simulator.api("GET", f"/projects/{self.project_id}").json()
        self.project = str(shown["path_with_namespace"])
        tags = {"tag_list": list(LABELS), "run_untagged": False}
        self.runner = self.simulator.runner(self.project_id, **tags)
        self.forge = self.make()

    def make(self, **change: Any) -> GitLabForge:
        """A forge of this project."""
        given: dict[str, Any] = {
            "token": lambda: self.simulator.admin_token,
            "projects": (self.project,),
            "runner_tokens": {"p1": RunnerToken(lambda: self.runner.token, self.runner.runner_id)},
            "url": self.simulator.url,
        }
        return GitLabForge(**given | change)

    def pipeline(self, text: str) -> int:
        """Start a pipeline of a CI file; gives its ID."""
        path = f"/projects/{self.project_id}"
        body = {"branch": "main", "commit_message": "CI", "content": text}
        known = (
            self.simulator.api("GET", f"{path}/repository/files/.gitlab-ci.yml?ref=main").status_code == 200
        )
        method = "PUT" if known else "POST"
        made = self.simulator.api(method, f"{path}/repository/files/.gitlab-ci.yml", json=body)
        assert made.is_success, made.text
        return int(self.simulator.api("GET", f"{path}/pipelines").json()[0]["id"])

    def queue(self, count: int = 1) -> list[JobKey]:
        """One pipeline with that many jobs."""
        jobs = [f"test{number}: {{script: [a], tags: [{', '.join(LABELS)}]}}" for number in range(count)]
        return self.keys(self.pipeline("\n".join(jobs)))

    def keys(self, pipeline: int) -> list[JobKey]:
        """Jobs of a pipeline, oldest first."""
        path = f"/projects/{self.project_id}/pipelines/{pipeline}/jobs?per_page=100"
        return [JobKey(self.kind, self.project, job["id"]) for job in self.simulator.api("GET", path).json()][
            ::-1
        ]

    def start(self, registration: Registration) -> JobKey | None:
        """Ask for a job as the machine would."""
        config = registration.config
        machine = FakeRunner(self.simulator, self.runner.runner_id, config["token"], config["system_id"])
        answer = machine.request()
        if answer.status_code == 204:
            return None
        assert answer.status_code == 201, answer.text
        job = answer.json()
        self.started[job["id"]] = (machine, job)
        return JobKey(self.kind, self.project, job["id"])

    def finish(self, key: JobKey, *, good: bool = True) -> None:
        """The machine reports the end."""
        machine, job = self.started.pop(key.job_id)
        reason = {} if good else {"failure_reason": "runner_system_failure"}
        assert machine.finish(job, "success" if good else "failed", **reason).is_success

    def close(self) -> None:
        """Close connections."""
        self.forge.close()


@dataclass
class FakeLab:
    """A fake forge in virtual time."""

    kind: ForgeKind
    clock: VirtualClock = field(default_factory=VirtualClock)
    runs: int = 0
    forge: FakeForge = field(init=False)

    def __post_init__(self) -> None:
        make = FakeGitHub if self.kind is ForgeKind.GITHUB else FakeGitLab
        self.forge = make(self.clock, prefix=PREFIX)

    def queue(self, count: int = 1) -> list[JobKey]:
        """Submit jobs of one run; they end when they are told to."""
        self.runs += 1
        return [
            self.forge.submit(
                JobFacts(
                    self.forge.new_key("lab/jobs"),
                    JobStatus.QUEUED,
                    f"test ({number})",
                    LABELS,
                    self.runs,
                    self.clock.true,
                    ref="main",
                ),
                seconds=10**9,
            )
            for number in range(count)
        ]

    def start(self, registration: Registration) -> JobKey | None:
        """Connect a runner."""
        self.forge.connect(registration.config, registration.runner_name, lambda _: None)
        return self.forge.busy(registration.runner_name)

    def finish(self, key: JobKey, *, good: bool = True) -> None:
        """End a job at once."""
        self.forge._finish(key, "success" if good else "failure")

    def close(self) -> None:
        """Nothing is open."""


__all__ = ["FakeLab", "GitHubLab", "GitLabLab", "Lab", "new_name", "pool"]
