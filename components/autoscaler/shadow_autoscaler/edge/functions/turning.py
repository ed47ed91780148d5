"""One call's turn at the state."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from shadow_autoscaler.edge import wiring
from shadow_autoscaler.edge.functions import setting
from shadow_autoscaler.runtime.service import Service, World
from shadow_autoscaler.runtime.turns import Turns

OUTSIDE: list[World] = []
"""Adapters instead of those that the configuration names, for tests."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A service, and whether this call decides."""

    base: wiring.Base
    service: Service
    turns: Turns
    until: float
    held: bool


@cache
def base_of() -> wiring.Base:
    """Return configuration, secrets and store, opened once per instance."""
    return wiring.Base.of(setting.config(), setting.file().parent, setting.redactor())


@contextmanager
def turn(context: setting.Context, patience_s: float = 0.0) -> Generator[Turn]:
    """Take the lease for this call, waiting for it so long at most; give it back at the end."""
    until = setting.deadline(context)
    base = base_of()
    lease_s = max(15.0, until - time.time() + 2 * setting.MARGIN_S)
    service = wiring.service(base, outside=OUTSIDE[0] if OUTSIDE else None, lease_s=lease_s)
    turns = Turns(service)
    end = min(until, time.time() + patience_s)
    while not turns.take() and time.time() < end:
        time.sleep(0.2)
    try:
        yield Turn(base, service, turns, until, service.engine.active)
    finally:
        service.lease.give_back()
