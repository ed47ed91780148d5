"""Which organisations and repositories are served, and how GitHub lets us in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shadow_autoscaler.adapters.github_client import Connection, GitHubClient
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

if TYPE_CHECKING:
    from githubkit import AppAuthStrategy, AppInstallationAuthStrategy, TokenAuthStrategy

Secret = Callable[[], str]
"""Gives a secret, read anew at each use."""


@dataclass(frozen=True, slots=True)
class Account:
    """An organisation or a user whose jobs are served."""

    owner: str
    repositories: tuple[str, ...] = ()
    """Names without the owner; empty: all of the organisation."""
    organization_runners: bool = True
    """Whether runners register with the organisation, whose groups say who may use them. False: with each
    repository, which is the only way for a user's own repositories."""
    installation_id: int | None = None
    """Installation of the App; looked up when not given."""

    def __post_init__(self) -> None:
        """Check what no type can say.

        Raises:
            ValueError: Runners of repositories are wanted, but no repositories are named.
        """
        if not self.organization_runners and not self.repositories:
            raise ValueError(
                f"account {self.owner!r}: name its `repositories`, since runners register with each of them"
            )

    def serves(self, project: str) -> bool:
        """Whether a repository, by its full name, belongs to it."""
        owner, _, name = project.casefold().partition("/")
        names = {known.casefold() for known in self.repositories}
        return owner == self.owner.casefold() and (not names or name in names)

    def runners_path(self, project: str) -> str:
        """API path of the runners that may serve a repository."""
        if self.organization_runners:
            return f"/orgs/{self.owner}/actions/runners"
        name = project.partition("/")[2] or self.repositories[0]
        return f"/repos/{self.owner}/{name}/actions/runners"

    def all_runners_paths(self) -> tuple[str, ...]:
        """API paths of all runners."""
        if self.organization_runners:
            return (self.runners_path(""),)
        return tuple(self.runners_path(f"{self.owner}/{name}") for name in self.repositories)

    @property
    def installation_path(self) -> str:
        """API path that tells the App's installation."""
        if self.organization_runners:
            return f"/orgs/{self.owner}/installation"
        return f"/repos/{self.owner}/{self.repositories[0]}/installation"


@dataclass(frozen=True, slots=True)
class Token:
    """A personal access token or any other plain one."""

    value: Secret = field(repr=False)

    def current(self) -> tuple[str, ...]:
        """The token as it is now."""
        return (self.value(),)

    def auth(self, current: tuple[str, ...]) -> "TokenAuthStrategy":
        """Return githubkit's form."""
        from githubkit import TokenAuthStrategy  # noqa: PLC0415 - takes 0.7 s

        return TokenAuthStrategy(current[0].strip())


@dataclass(frozen=True, slots=True)
class App:
    """A GitHub App: its client ID (or numeric ID) and private key in PEM."""

    client_id: str
    private_key: Secret = field(repr=False)

    def current(self) -> tuple[str, ...]:
        """The key as it is now."""
        return (self.private_key(),)

    def auth(self, current: tuple[str, ...]) -> "AppAuthStrategy":
        """Return githubkit's form; its tokens are issued a minute in the past and last nine minutes more."""
        from githubkit import AppAuthStrategy  # noqa: PLC0415 - takes 0.7 s

        return AppAuthStrategy(self.client_id, current[0])


@dataclass(frozen=True, slots=True)
class Installation:
    """An App as it is installed on one account; its tokens last an hour and are cached for it."""

    app: App
    installation_id: int

    def current(self) -> tuple[str, ...]:
        """The App's key as it is now."""
        return self.app.current()

    def auth(self, current: tuple[str, ...]) -> "AppInstallationAuthStrategy":
        """Return githubkit's form."""
        return self.app.auth(current).as_installation(self.installation_id)


@dataclass(slots=True)
class Sites:
    """Accounts with their clients; installations are looked up at the first use."""

    accounts: tuple[Account, ...]
    credential: App | Token
    connection: Connection
    root: GitHubClient = field(init=False)
    """Signed in as the App itself, or by the token."""
    _clients: dict[str, GitHubClient] = field(default_factory=dict[str, GitHubClient])

    def __post_init__(self) -> None:
        """Make the first client."""
        self.root = GitHubClient(self.connection, self.credential)

    def client(self, account: Account) -> GitHubClient:
        """Client for an account's things."""
        if isinstance(self.credential, Token):
            return self.root
        known = self._clients.get(account.owner)
        if known is None:
            number = account.installation_id or self.root.get(account.installation_path, _number)
            made = GitHubClient(self.connection, Installation(self.credential, number))
            known = self._clients.setdefault(account.owner, made)
        return known

    def of(self, project: str) -> Account:
        """Account that a repository belongs to; the first one where no repository is given.

        Raises:
            PortError: REFUSED for a repository that is none of ours.
        """
        for account in self.accounts:
            if not project or account.serves(project):
                return account
        owners = ", ".join(account.owner for account in self.accounts)
        text = f"{project} is none of the configured repositories (github: owner {owners})"
        raise PortError(Failure(FailureKind.REFUSED, text))

    def close(self) -> None:
        """Close all connections."""
        for client in (self.root, *self._clients.values()):
            client.close()


def _number(answer: Any) -> int:
    return int(answer["id"])
