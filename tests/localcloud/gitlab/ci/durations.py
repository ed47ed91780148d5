"""Durations as people write them in CI files: `1h 30m`, `90 minutes`, `3600`."""

import re

UNITS = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600,
    "d": 86400, "day": 86400, "w": 604800, "week": 604800, "mo": 2592000, "mos": 2592000, "month": 2592000,
    "y": 31557600, "yr": 31557600, "year": 31557600,
}  # fmt: skip
PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def seconds(text: object) -> int | None:
    """The duration in seconds, or None when the text is no duration."""
    words = str(text).lower().replace(" and ", " ").replace(",", " ").strip()
    if not words or re.sub(PART, "", words).strip():
        return None
    total = 0.0
    for number, unit in PART.findall(words):
        name = unit if unit in UNITS else unit.removesuffix("s")
        if unit and name not in UNITS:
            return None
        total += float(number) * (UNITS[name] if unit else 1)
    return round(total)
