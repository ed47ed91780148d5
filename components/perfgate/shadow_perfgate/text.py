"""Numbers as people read them: shares with a sign, values with their unit."""

import re
from math import isfinite

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return `text` on one line, without what steers a terminal or turns its direction."""
    return _CONTROL.sub("?", text.replace("\n", " "))


def share(value: float | None, digits: int = 1) -> str:
    """Return a change as `+7.8 %`; `?` when it is not known."""
    if value is None or not isfinite(value):
        return "?"
    rounded = round(value * 100, digits) + 0.0
    return f"{rounded:+.{digits}f} %"


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share without a sign as `5 %` or `1.5 %`."""
    if value is None or not isfinite(value):
        return "?"
    return f"{round(value * 100, digits):g} %"


def number(value: float) -> str:
    """Return a value with five significant digits, and thousands in full."""
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.5g}"


def plain(value: float) -> str:
    """Return a value for machines that compare it as text: four significant digits, never an exponent."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def quantity(value: float, unit: str) -> str:
    """Return a value with its unit; counts stand alone."""
    return number(value) if unit in {"count", "ratio"} else f"{number(value)} {unit}"


def probability(p: float | None) -> str:
    """Return a p value with two significant digits."""
    if p is None:
        return ""
    return "<1e-6" if p < 1e-6 else f"{p:.2g}"
