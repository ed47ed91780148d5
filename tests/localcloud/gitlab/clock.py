"""The instance's clock: real UTC time plus an offset that tests may advance."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(slots=True)
class Clock:
    """Time as the instance sees it; `offset_s` is added to the machine's UTC time."""

    offset_s: float = 0.0

    def now(self) -> datetime:
        """The current instance time in UTC."""
        return datetime.now(UTC) + timedelta(seconds=self.offset_s)

    def stamp(self, ahead_s: float = 0.0) -> str:
        """The time `ahead_s` seconds from now as GitLab prints it, e.g. 2026-01-31T12:00:00.000Z."""
        return format_time(self.now() + timedelta(seconds=ahead_s))


def format_time(moment: datetime) -> str:
    """Format a UTC time with milliseconds and a Z."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def parse_time(stamp: str) -> datetime:
    """Parse what `format_time` wrote, or a plain date."""
    moment = datetime.fromisoformat(stamp)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def seconds_between(start: str | None, end: str | None) -> float | None:
    """Seconds from `start` to `end`, or None while one of them is unknown."""
    if not start or not end:
        return None
    return round((parse_time(end) - parse_time(start)).total_seconds(), 6)


def hook_time(stamp: str | None) -> str | None:
    """The form that time takes in job and pipeline webhooks: 2026-01-31 12:00:00 UTC."""
    return parse_time(stamp).strftime("%Y-%m-%d %H:%M:%S UTC") if stamp else None


def whole_seconds(stamp: str | None) -> str | None:
    """The ISO form without fractions, as in the `_iso` fields of job webhooks."""
    return parse_time(stamp).strftime("%Y-%m-%dT%H:%M:%SZ") if stamp else None
