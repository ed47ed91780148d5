"""Primary limits by the hour and secondary limits by the minute, per caller; kept in memory only."""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from localcloud.github.errors import primary_limit, secondary_limit
from localcloud.github.principal import Principal
from localcloud.github.simulator import Simulator

_HOUR_S = 3600
_MINUTE_S = 60
_WRITE_POINTS = 5
RESOURCES = ("core", "search", "graphql", "actions_runner_registration")


@dataclass(slots=True)
class _Window:
    reset: float
    used: int = 0


@dataclass(slots=True)
class Limits:
    """Counts the calls of every caller."""

    windows: dict[tuple[str, str], _Window] = field(default_factory=dict[tuple[str, str], _Window])
    points: dict[tuple[str, str], deque[tuple[float, int]]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    content: dict[str, deque[tuple[float, int]]] = field(default_factory=lambda: defaultdict(deque))
    running: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def admit(self, sim: Simulator, caller: Principal, resource: str) -> None:
        """Refuse a call over the hour's limit.

        Raises:
            ApiError: 403 with `x-ratelimit-remaining: 0`.
        """
        if self._window(sim, caller, resource).used >= allowance(sim, caller, resource):
            raise primary_limit(caller.key, self.headers(sim, caller, resource))

    def admit_burst(
        self, sim: Simulator, caller: Principal, route: tuple[str, str], *, content: bool
    ) -> None:
        """Refuse a call over one of the secondary limits, and count it otherwise.

        Raises:
            ApiError: 403 with `retry-after`.
        """
        now = sim.clock.now()
        method, path = route
        cost = 1 if method == "GET" else _WRITE_POINTS
        points = _recent(self.points[caller.key, path], now, _MINUTE_S)
        created = _recent(self.content[caller.key], now, _HOUR_S)
        last_minute = sum(1 for at, _ in created if at > now - _MINUTE_S)
        if (
            sum(value for _, value in points) + cost > sim.setting("limit_points_per_minute")
            or self.running[caller.key] >= sim.setting("limit_concurrent")
            or (content and last_minute >= sim.setting("limit_content_per_minute"))
            or (content and len(created) >= sim.setting("limit_content_per_hour"))
        ):
            raise secondary_limit(sim.setting("secondary_retry_after_s"))
        points.append((now, cost))
        if content:
            created.append((now, 1))

    def count(self, sim: Simulator, caller: Principal, resource: str) -> None:
        """Count one answered call."""
        self._window(sim, caller, resource).used += 1

    def exhaust(self, sim: Simulator, caller: Principal, resource: str) -> None:
        """Use up the hour's limit (a fault that tests switch on)."""
        self._window(sim, caller, resource).used = allowance(sim, caller, resource)

    def headers(self, sim: Simulator, caller: Principal, resource: str) -> dict[str, str]:
        """The `x-ratelimit-*` headers."""
        state = self.state(sim, caller, resource)
        names = {name: f"X-RateLimit-{name.capitalize()}" for name in state}
        return {names[name]: str(value) for name, value in state.items()} | {"X-RateLimit-Resource": resource}

    def state(self, sim: Simulator, caller: Principal, resource: str) -> dict[str, int]:
        """One entry of `GET /rate_limit`."""
        window = self._window(sim, caller, resource)
        limit = allowance(sim, caller, resource)
        remaining = max(0, limit - window.used)
        return {"limit": limit, "used": window.used, "remaining": remaining, "reset": int(window.reset)}

    def _window(self, sim: Simulator, caller: Principal, resource: str) -> _Window:
        now = sim.clock.now()
        window = self.windows.get((caller.key, resource))
        if window is None or window.reset <= now:
            window = self.windows[caller.key, resource] = _Window(now + _HOUR_S)
        return window


def allowance(sim: Simulator, caller: Principal, resource: str) -> int:
    """Calls per hour; an installation gets more with the number of its repositories, up to 12,500."""
    if caller.kind == "anonymous":
        return int(sim.setting("limit_anonymous"))
    if resource == "actions_runner_registration":
        return int(sim.setting("limit_runner_registration"))
    core = int(sim.setting("limit_core"))
    if caller.kind != "installation":
        return core
    repositories = len(sim.store.find("repository", owner_id=caller.account_id))
    return min(max(core, 12_500), core + 50 * max(0, repositories - 20))


def _recent(entries: deque[tuple[float, int]], now: float, seconds: float) -> deque[tuple[float, int]]:
    while entries and entries[0][0] <= now - seconds:
        entries.popleft()
    return entries
