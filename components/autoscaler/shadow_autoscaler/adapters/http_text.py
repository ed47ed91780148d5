"""What HTTP answers say, put shortly."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

_LONGEST = 300
MOST_S = 3600.0
"""Longest wait that an answer can ask for: a wrong one must not close a port for years."""
_TOKENS = re.compile(
    r"\b(gh[pousr]_|github_pat_|glpat-|glrt-|gldt-|glcbt-)[\w.-]+|eyJ[\w-]+\.[\w-]+\.[\w-]+|(?<=://)[^/@\s]+@"
)


def clip(text: str) -> str:
    """One line without tokens, at most 300 characters."""
    line = " ".join(_TOKENS.sub("***", text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def message_of(content: bytes) -> str:
    """The message of an error body, of GitHub or GitLab; its beginning where it is no JSON."""
    try:
        body: Any = json.loads(content)
    except ValueError:
        return clip(content[:_LONGEST].decode("utf-8", "replace"))
    if not isinstance(body, dict):
        return clip(str(body))
    fields = cast("dict[str, Any]", body)
    found = fields.get("message") or fields.get("error_description") or fields.get("error") or fields
    details = fields.get("errors")
    return clip(f"{found} {details}" if details else str(found))


def bounded(seconds: float) -> float:
    """A wait that an answer asks for, within 0 and an hour."""
    return min(max(0.0, seconds), MOST_S)


def seconds_until(text: str | None, now: datetime | None = None) -> float | None:
    """The value of `Retry-After`, in seconds or as a date; None where it is neither."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return bounded(float(text))
    try:
        return bounded((parsedate_to_datetime(text) - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError):  # a date without a zone cannot be subtracted
        return None


def reset_in(headers: Mapping[str, str], name: str) -> float | None:
    """Seconds until the moment in a header, by the answer's own clock where it tells its time."""
    reset = headers.get(name, "")
    if not reset.isdecimal():
        return None
    try:
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        now = datetime.now(UTC).timestamp()
    return bounded(float(reset) - now)
