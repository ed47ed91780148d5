"""What operators ask for on the command line, as it lies in the inbox."""

import json
import uuid
from collections.abc import Sequence

from shadow_autoscaler.core.events import Drained, Event, Tick
from shadow_autoscaler.ports import Delivery

DRAIN, REAP = "drain", "reap"


def drain(pool: str, vm: str, now: float, *, on: bool) -> Delivery:
    """Return the request to take a pool or VM out of use, or to take that back."""
    body = json.dumps({"pool": pool, "vm": vm, "on": on}).encode()
    return Delivery(f"operator-{uuid.uuid4()}", "operator", DRAIN, body, now)


def reap(now: float) -> Delivery:
    """Return the request to look at everything now and remove what is left over."""
    return Delivery(f"operator-{uuid.uuid4()}", "operator", REAP, b"{}", now)


def translate(name: str, body: bytes) -> Sequence[Event]:
    """Translate a request; `ValueError` when it is none."""
    if name == REAP:
        return (Tick(),)
    if name != DRAIN:
        raise ValueError(f"unknown request {name!r}")
    asked = json.loads(body)
    return (Drained(asked["pool"], asked["vm"], asked["on"]),)
