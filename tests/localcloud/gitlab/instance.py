"""One running GitLab: its settings, clock, database, repositories and the signal that wakes its workers."""

import asyncio
import hashlib
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from localcloud.gitlab.clock import Clock
from localcloud.gitlab.git import Repositories
from localcloud.gitlab.settings import Settings
from localcloud.gitlab.store import Row, Store

ALL_SCOPES = (
    "api",
    "read_api",
    "read_user",
    "read_repository",
    "write_repository",
    "create_runner",
    "manage_runner",
    "sudo",
)


@dataclass(slots=True)
class Instance:
    """Everything an endpoint or worker needs."""

    settings: Settings
    store: Store
    repositories: Repositories
    clock: Clock = field(default_factory=Clock)
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def traces(self) -> Path:
        """Folder of job logs."""
        return self.settings.state / "traces"

    @property
    def uploads(self) -> Path:
        """Folder of job artifacts."""
        return self.settings.state / "artifacts"


def open_instance(settings: Settings) -> Instance:
    """Open or create the instance kept in `settings.state`."""
    for name in ("repositories", "traces", "artifacts"):
        (settings.state / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    store = Store(settings.state / "gitlab.sqlite3")
    instance = Instance(settings, store, Repositories(settings.state / "repositories"))
    instance.clock.offset_s = float(store.meta("clock_offset_s", 0.0))
    ensure_root(instance)
    return instance


def ensure_root(instance: Instance) -> None:
    """Make the administrator and its token, once."""
    store, now = instance.store, instance.clock.stamp()
    with store.transaction():
        root = store.one("users", username="root")
        root_id = root["id"] if root else add_user(instance, "root", "Administrator", admin=True)
        if store.one("tokens", digest=digest(instance.settings.admin_token)) is None:
            add_token(instance, root_id, "local cloud", list(ALL_SCOPES), instance.settings.admin_token)
    store.set_meta("started_at", now)


def add_user(instance: Instance, username: str, name: str, *, admin: bool = False, bot: bool = False) -> int:
    """Create a user and give its id."""
    return instance.store.insert(
        "users", username=username, name=name, email=f"{username}@example.com", admin=admin, bot=bot,
        created_at=instance.clock.stamp(),
    )  # fmt: skip


def add_token(
    instance: Instance,
    user_id: int,
    name: str,
    scopes: list[str],
    token: str = "",
    expires_at: str | None = None,
) -> tuple[int, str]:
    """Create a personal access token; gives its id and its only readable copy."""
    token = token or f"glpat-{secrets.token_urlsafe(15)}"
    token_id = instance.store.insert(
        "tokens", user_id=user_id, name=name, digest=digest(token), scopes=scopes, expires_at=expires_at,
        created_at=instance.clock.stamp(),
    )  # fmt: skip
    return token_id, token


def reset(instance: Instance) -> None:
    """Throw every project, job, runner, hook and user away and start as new."""
    instance.store.clear()
    instance.repositories.forget()
    instance.clock.offset_s = 0.0
    for folder in (instance.settings.state / "repositories", instance.traces, instance.uploads):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
    ensure_root(instance)


def digest(token: str) -> str:
    """What is stored in place of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def project_url(instance: Instance, project: Row) -> str:
    """The project's page."""
    return f"{instance.settings.url}/{project['full_path']}"
