"""The body of a genuine webhook: readable, and not a recording from long ago."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

WINDOW_S = 4 * 86_400.0
"""What is older is a recording: forges deliver again for three days, and so long jobs are remembered."""


class UnreadableBodyError(ValueError):
    """The body is not UTF-8, not JSON, or no object."""


def parse(body: bytes) -> Mapping[str, Any]:
    """Return the body as an object."""
    try:
        document = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UnreadableBodyError(f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableBodyError(f"not JSON: {str(error)[:120]}") from None
    if not isinstance(document, dict):
        raise UnreadableBodyError(f"a JSON {type(document).__name__} instead of an object")
    return cast("dict[str, Any]", document)


def too_old(document: Mapping[str, Any], now: float) -> bool:
    """Whether every time that the job or run carries lies long ago."""
    times = list(_times(document))
    return bool(times) and now - max(times) > WINDOW_S


def _times(document: Mapping[str, Any]) -> Iterator[float]:
    parts = (
        document,
        document.get("workflow_job"),
        document.get("workflow_run"),
        document.get("object_attributes"),
    )
    for part in parts:
        if not isinstance(part, dict):
            continue
        for key, value in cast("dict[str, Any]", part).items():
            if key.endswith("_at") and isinstance(value, str):
                yield from _seconds(value)


def _seconds(text: str) -> Iterator[float]:
    try:
        yield datetime.fromisoformat(text.replace(" UTC", "+00:00").replace(" +", "+")).timestamp()
    except ValueError:
        return
