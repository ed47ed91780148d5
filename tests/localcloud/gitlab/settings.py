"""Where one simulated GitLab listens, keeps its state, and which tokens it starts with."""

from dataclasses import dataclass
from pathlib import Path

VERSION = "18.5.0-ee"
REVISION = "5e1a9c0f2b7"


@dataclass(frozen=True, slots=True)
class Settings:
    """Start-up values of one instance; `port` is a loopback port, `state` a private folder."""

    port: int
    state: Path
    admin_token: str
    sim_token: str
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """The external URL, without a trailing slash."""
        return f"http://{self.host}:{self.port}"
