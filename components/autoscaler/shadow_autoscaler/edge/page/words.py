"""Numbers as people read them."""

from datetime import UTC, datetime


def duration(seconds: float) -> str:
    """Return `45 s`, `12 min`, `3 h 20 min` or `2 d 4 h`."""
    whole = max(0, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def amount(eur: float) -> str:
    """Return an amount; small ones keep the digits that tell something."""
    digits = 2 if abs(eur) < 0.0005 or abs(eur) >= 0.1 else 3
    return f"{eur:,.{digits}f}"


def sentence(text: str) -> str:
    """Return the text with a capital letter and a full stop."""
    whole = text[:1].upper() + text[1:]
    return whole if not whole or whole.endswith((".", "!", "?")) else f"{whole}."


def moment(at: float) -> str:
    """Return a time of today as `14:03:22`, another one with its date; UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def clock(at: float) -> str:
    """Return the time of day, UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"
