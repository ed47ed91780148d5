"""GitHub as the autoscaler's forge, over githubkit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from shadow_autoscaler.adapters import github_deliveries, github_jobs, github_runners
from shadow_autoscaler.adapters.github_accounts import Account, App, Sites, Token
from shadow_autoscaler.adapters.github_client import Connection
from shadow_autoscaler.adapters.github_deliveries import Redelivery
from shadow_autoscaler.adapters.github_jobs import Origins
from shadow_autoscaler.adapters.github_runners import Groups, Wish
from shadow_autoscaler.core.events import Removal, RerunOutcome, Runner
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey
from shadow_autoscaler.core.pools import Pool
from shadow_autoscaler.ports import Registration

__all__ = ["Account", "App", "Connection", "GitHubForge", "Token", "mark_of"]

MARK: Final = "shadow-gpu-runners.deployment"


def mark_of(deployment_id: str) -> str:
    """The label by which this deployment knows its own runners among others of the same name."""
    return f"{MARK}={deployment_id}"


@dataclass(slots=True)
class GitHubForge:
    """Jobs and runners of one or several organisations and repositories. Safe from several threads.

    Args:
        accounts: Whose jobs are served; a job's repository chooses the account, a warm runner gets the first.
        credential: The App, or a plain token.
        deployment_id: Goes as a label (`mark_of`) to each runner, and only runners with it are ever listed.
        name_prefix: Beginning of all our runners' names, without the dash.
        connection: Address, time-out, CA bundle.
        webhook_url: Where our hook leads, to find it for redeliveries; may be empty for an App's own hook.
        max_repositories: Most repositories of an organisation that `jobs` looks into, those pushed to last.
    """

    accounts: Sequence[Account]
    credential: App | Token
    deployment_id: str
    name_prefix: str = "gpu"
    connection: Connection = field(default_factory=Connection)
    webhook_url: str = ""
    max_repositories: int = 200
    kind: ForgeKind = field(default=ForgeKind.GITHUB, init=False)
    _sites: Sites = field(init=False, repr=False)
    _groups: Groups = field(default_factory=Groups, init=False, repr=False)
    _origins: Origins = field(default_factory=Origins, init=False, repr=False)
    _redelivery: Redelivery = field(default_factory=Redelivery, init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare clients; nothing is called yet."""
        self._sites = Sites(tuple(self.accounts), self.credential, self.connection)

    def job(self, key: JobKey) -> JobFacts | None:
        """Return the job with its origin."""
        client = self._sites.client(self._sites.of(key.project))
        return github_jobs.job(client, self._origins, key)

    def jobs(self) -> tuple[JobFacts, ...]:
        """Return waiting and running jobs: two calls for each repository, one for each run not done."""
        found: list[JobFacts] = []
        for account in self._sites.accounts:
            client = self._sites.client(account)
            names = [f"{account.owner}/{name}" for name in account.repositories]
            projects = names or github_jobs.repositories(client, account.owner, self.max_repositories)
            found += github_jobs.unfinished(client, self._origins, projects)
        return tuple(found)

    def runners(self) -> tuple[Runner, ...]:
        """Return the runners with our prefix and our label."""
        mark, prefix = mark_of(self.deployment_id), f"{self.name_prefix}-"
        return tuple(
            runner
            for account in self._sites.accounts
            for path in account.all_runners_paths()
            for runner in github_runners.listed(self._sites.client(account), path, prefix, mark)
        )

    def register(self, pool: Pool, runner_name: str, key: JobKey | None) -> Registration:
        """Mint a JIT configuration with the pool's labels and our own."""
        account = self._sites.of(key.project if key else "")
        path = account.runners_path(key.project if key else "")
        wish = Wish(runner_name, (*pool.labels, mark_of(self.deployment_id)), pool.runner_group)
        number, config = github_runners.mint(self._sites.client(account), self._groups, path, wish)
        return Registration(number, runner_name, {"kind": str(self.kind), "jit_config": config})

    def deregister(self, runner_name: str, runner_id: int | None, system_id: str = "") -> Removal:
        """Remove the runner of that name, wherever it is registered; a busy one stays."""
        del system_id  # GitLab's
        for account in self._sites.accounts:
            client, paths = self._sites.client(account), account.all_runners_paths()
            if github_runners.remove(client, paths, runner_name, runner_id) is Removal.BUSY:
                return Removal.BUSY
        return Removal.GONE

    def rerun(self, key: JobKey, run_id: int) -> RerunOutcome:
        """Run the failed jobs of the run again, once for each attempt."""
        return github_jobs.rerun(self._sites.client(self._sites.of(key.project)), key, run_id)

    def redeliver(self, since: float) -> int:
        """Have failed deliveries of `workflow_job` (queued, completed) repeated, each of them once."""
        if isinstance(self.credential, App):
            path = github_deliveries.app_hook(self._sites.root, self.webhook_url)
            if path:
                return self._redelivery.run(self._sites.root, path, since)
        return sum(self._redeliver(account, since) for account in self._sites.accounts if self.webhook_url)

    def _redeliver(self, account: Account, since: float) -> int:
        client = self._sites.client(account)
        owners = [f"/repos/{account.owner}/{name}" for name in account.repositories]
        if account.organization_runners:
            owners.insert(0, f"/orgs/{account.owner}")
        paths = [
            path for owner in owners for path in github_deliveries.hooks(client, owner, self.webhook_url)
        ]
        return sum(self._redelivery.run(client, path, since) for path in paths)

    def close(self) -> None:
        """Close all connections."""
        self._sites.close()
