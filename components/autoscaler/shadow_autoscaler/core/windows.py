"""How many warm VMs a pool wants at a moment."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from shadow_autoscaler.core.pools import IdleWindow, Pool


def wanted(pool: Pool, now: float) -> int:
    """Return the number of warm VMs: the largest of the open windows, at most the pool's maximum."""
    open_now = [window.count for window in pool.idle if is_open(window, now)]
    return min(max(open_now, default=0), pool.max)


def is_open(window: IdleWindow, now: float) -> bool:
    """Whether the window is open; one past midnight belongs to the day on which it starts."""
    local = datetime.fromtimestamp(now, UTC).astimezone(_zone(window.timezone))
    minute = local.hour * 60 + local.minute
    start, end = _minutes(window.start), _minutes(window.end)
    if start < end:
        return local.weekday() in window.days and start <= minute < end
    if minute >= start:
        return local.weekday() in window.days
    return minute < end and (local - timedelta(days=1)).weekday() in window.days


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


@lru_cache(maxsize=256)
def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes or 0)
