"""GitLab as the autoscaler's forge, over python-gitlab."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shadow_autoscaler.adapters.gitlab_client import DEFAULT_URL, GitLabClient, Secret
from shadow_autoscaler.adapters.gitlab_hooks import Resending
from shadow_autoscaler.adapters.gitlab_jobs import Jobs
from shadow_autoscaler.adapters.gitlab_runners import Names, Runners, RunnerToken, system_id_of
from shadow_autoscaler.core.events import Removal, RerunOutcome, Runner
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.ports import Registration

__all__ = ["GitLabForge", "RunnerToken", "system_id_of"]


@dataclass(slots=True)
class GitLabForge:
    """Jobs of the watched projects, and the machines of the pools' runners. Safe from several threads.

    Args:
        token: Access token with the scope `api` and the role Maintainer in the projects.
        projects: Full paths of the projects whose jobs are served.
        runner_tokens: The runner of each pool.
        url: Address of the instance.
        name_prefix: Beginning of all our runners' names, without the dash.
        names: Gives the names of all registrations that the state knows (`<vm>-<number>`), also past ones.
            GitLab knows machines by a system ID derived from the name; this is the way back after a restart.
        webhook_url: Where our hook leads, to find it for redeliveries; none are made when empty.
        timeout_s: Longest wait for an answer.
        ca_file: CA bundle (PEM) instead of the usual one; `REQUESTS_CA_BUNDLE` works, too.
    """

    token: Secret = field(repr=False)
    projects: Sequence[str]
    runner_tokens: Mapping[str, RunnerToken]
    url: str = DEFAULT_URL
    name_prefix: str = "gpu"
    names: Callable[[], Iterable[str]] | None = None
    webhook_url: str = ""
    timeout_s: float = 20.0
    ca_file: str = ""
    kind: ForgeKind = field(default=ForgeKind.GITLAB, init=False)
    _client: GitLabClient = field(init=False, repr=False)
    _names: Names = field(init=False, repr=False)
    _jobs: Jobs = field(init=False, repr=False)
    _runners: Runners = field(init=False, repr=False)
    _resending: Resending = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare the client; nothing is called yet."""
        self._client = GitLabClient(self.url, self.token, self.timeout_s, self.ca_file)
        self._names = Names(self.names)
        self._jobs = Jobs(self._client, self._names)
        self._runners = Runners(self._client, self.runner_tokens, self._names, self.name_prefix)
        self._resending = Resending(self._client, self.webhook_url)

    def job(self, key: JobKey) -> JobFacts | None:
        """Return the job with its tags, machine and origin."""
        return self._jobs.one(key)

    def jobs(self) -> tuple[JobFacts, ...]:
        """Return waiting and running jobs of all projects."""
        return tuple(self._jobs.unfinished(self.projects))

    def runners(self) -> tuple[Runner, ...]:
        """Return the machines that have called with the pools' tokens; unknown ones by their system ID."""
        return tuple(self._runners.listed())

    def register(self, pool: Pool, runner_name: str, key: JobKey | None) -> Registration:
        """Return the pool's own token, the system ID to call with, and how long to wait for a job."""
        config = {
            "kind": str(self.kind),
            "url": self.url,
            "token": self._runners.token(pool.name),
            "system_id": self._names.add(runner_name),
            "wait_timeout_s": f"{pool.patience_s(warm=key is None):.0f}",
        }
        return Registration(None, runner_name, config)

    def deregister(self, runner_name: str, runner_id: int | None, system_id: str = "") -> Removal:
        """Remove the machine of that name; one that runs a job stays."""
        del runner_id  # one runner has many machines
        return self._runners.remove(runner_name, system_id)

    def rerun(self, key: JobKey, run_id: int) -> RerunOutcome:
        """Retry the job, once."""
        return self._jobs.rerun(key, run_id)

    def redeliver(self, since: float) -> int:
        """Have failed Job Hooks sent again, each of them once and five a minute."""
        if not self.webhook_url:
            return 0
        return sum(self._resending.run(project, since) for project in self.projects)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
