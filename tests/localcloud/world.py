"""What runs where: addresses and tokens of the local cloud, written by `up`, read by everybody else."""

import json
import os
import secrets
import string
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Self

from localcloud.paths import port, state_home

REGION = "LOCAL01"
TENANT_CLOUD = "shadow-dev"
CONTROLLER_CLOUD = "shadow-controller"
ADMIN_CLOUD = "local-admin"
_ALPHABET = string.ascii_letters + string.digits


class NoWorldError(RuntimeError):
    """There is no local cloud on this machine yet."""


def _token(prefix: str, length: int) -> str:
    return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(length))


@dataclass(frozen=True, slots=True)
class World:
    """Addresses and tokens of one local cloud; the tokens are random per cloud and kept out of `repr`."""

    auth_url: str = f"http://127.0.0.1:{port(5000)}/v3"
    region: str = REGION
    gitlab_url: str = f"http://127.0.0.1:{port(8929)}"
    github_url: str = f"http://127.0.0.1:{port(8930)}"
    gitlab_token: str = field(default_factory=lambda: _token("glpat-", 20), repr=False)
    github_token: str = field(default_factory=lambda: _token("ghp_", 36), repr=False)
    sim_token: str = field(default_factory=lambda: _token("sim-", 32), repr=False)
    admin_password: str = field(default_factory=lambda: _token("", 24), repr=False)

    @staticmethod
    def path() -> Path:
        """File that holds it, readable by its owner only."""
        return state_home() / "world.json"

    @classmethod
    def load(cls) -> Self:
        """Read it.

        Raises:
            NoWorldError: the local cloud was never started here.
        """
        try:
            stored = json.loads(cls.path().read_text())
        except FileNotFoundError as error:
            raise NoWorldError(f"{cls.path()} is missing: run `scripts/localcloud up` first.") from error
        except ValueError as error:
            remedy = f"remove {state_home()} and run `scripts/localcloud up`"
            raise ValueError(f"{cls.path()} is damaged ({error}): {remedy}.") from error
        known = {item.name for item in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})

    @classmethod
    def ensure(cls) -> Self:
        """Read it, or make one with new tokens where there is none."""
        try:
            return cls.load()
        except NoWorldError:
            made = cls()
            made.save()
            return made

    def save(self) -> None:
        """Write it so that a reader sees the old or the new one, never a part."""
        write_private(self.path(), json.dumps(asdict(self), indent=2) + "\n")

    def environment(self, cloud: str = TENANT_CLOUD) -> dict[str, str]:
        """Variables that point OpenStack, GitLab and GitHub clients of a tenant to this local cloud."""
        return {
            "OS_CLIENT_CONFIG_FILE": str(state_home() / "clouds.yaml"),
            "OS_CLOUD": cloud,
            "OS_REGION_NAME": self.region,
            "GITLAB_TOKEN": self.gitlab_token,
            "GITLAB_BASE_URL": f"{self.gitlab_url}/api/v4/",
            "GITHUB_TOKEN": self.github_token,
            "GITHUB_BASE_URL": f"{self.github_url}/",
        }


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically, mode 0600."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(text)
    draft.replace(path)
