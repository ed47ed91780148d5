"""Moments as the forges write them, in the core's seconds."""

from datetime import datetime


def seconds(moment: datetime | None) -> float | None:
    """Return seconds since the epoch; None for a moment that has not come."""
    return None if moment is None else moment.timestamp()
