"""The one object that every part of the simulator shares: state, time, addresses, settings."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcloud.github.clock import Clock
from localcloud.github.store import Doc, Store

DEFAULTS: dict[str, Any] = {
    # Seconds without a sign of life after which a runner is shown as offline.
    "runner_offline_after_s": 30,
    # Seconds without a sign of life after which a runner's job fails.
    "runner_lost_after_s": 600,
    # An assigned job that is not started in this time goes back to the queue.
    "assignment_timeout_s": 60,
    # A job that nobody took in this time fails.
    "queue_timeout_s": 24 * 3600,
    # Offline runners are removed: ephemeral ones after a day, others after 14.
    "ephemeral_removed_after_s": 24 * 3600,
    "runner_removed_after_s": 14 * 24 * 3600,
    "max_runners_per_group": 10_000,
    # Older runners are refused, as GitHub does some time after a release; empty refuses none.
    "minimum_runner_version": "",
    "delivery_timeout_s": 10,
    "delivery_max_bytes": 25 * 1024 * 1024,
    "delivery_window_s": 3 * 24 * 3600,
    "limit_core": 5_000,
    "limit_anonymous": 60,
    "limit_runner_registration": 10_000,
    "limit_points_per_minute": 900,
    "limit_content_per_minute": 80,
    "limit_content_per_hour": 500,
    "limit_concurrent": 100,
    "secondary_retry_after_s": 60,
}


@dataclass(slots=True)
class Simulator:
    """State, time and addresses of one simulated GitHub."""

    store: Store
    public_url: str
    sim_token: str
    user_token: str
    clock: Clock = field(init=False)
    # Set when there is work for the delivery loop or a waiting runner.
    deliveries_wake: asyncio.Event = field(default_factory=asyncio.Event)
    runners_wake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.clock = Clock(self.store)

    @classmethod
    def open(cls, state: Path, public_url: str, sim_token: str, user_token: str) -> "Simulator":
        """Open or make the state below a folder."""
        return cls(Store(state / "github.sqlite"), public_url, sim_token, user_token)

    @property
    def api_url(self) -> str:
        """Base address of the REST API in answers and payloads."""
        return f"{self.public_url}/api/v3"

    def setting(self, name: str) -> Any:
        """A value that tests may change through `/_sim/settings`."""
        changed: Doc = self.store.get("setting", "settings") or {}
        return changed.get(name, DEFAULTS[name])

    def configure(self, values: Doc) -> None:
        """Change settings; unknown names are the caller's fault.

        Raises:
            KeyError: a name that is not in `DEFAULTS`.
        """
        for name in values:
            DEFAULTS[name]
        current: Doc = self.store.get("setting", "settings") or {"key": "settings"}
        self.store.save("setting", {**current, **values})

    def wake_runners(self) -> None:
        """Let waiting runners look for a job again."""
        self.runners_wake.set()
        self.runners_wake = asyncio.Event()
