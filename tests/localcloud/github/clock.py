"""The simulator's time: real UTC plus what tests have advanced it by."""

import time
from datetime import UTC, datetime

from localcloud.github.store import Store

_KEY = "clock"


class Clock:
    """Seconds since 1970 that tests can move forward; the offset survives a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now(self) -> float:
        """Current time in seconds."""
        return time.time() + self.offset_s()

    def offset_s(self) -> float:
        """Seconds by which the clock is ahead of real time."""
        return float((self._store.get("setting", _KEY) or {}).get("offset_s", 0.0))

    def advance(self, seconds: float) -> None:
        """Move forward."""
        self._store.save("setting", {"key": _KEY, "offset_s": self.offset_s() + seconds})

    def iso(self, at: float | None = None) -> str:
        """A time as the API writes it: UTC, whole seconds, `Z`."""
        moment = datetime.fromtimestamp(self.now() if at is None else at, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(iso: str) -> float:
    """Seconds since 1970 of a time that `Clock.iso` wrote."""
    return datetime.strptime(iso, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
