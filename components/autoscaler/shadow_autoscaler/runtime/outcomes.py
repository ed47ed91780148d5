"""How the carrying out of an intent ended."""

from collections.abc import Callable
from dataclasses import dataclass

from shadow_autoscaler.core.events import Event
from shadow_autoscaler.core.faults import Failure, FailureKind

THROTTLE_S = 60.0
"""How long to wait when the other side asks for patience without saying how long."""


def nothing() -> None:
    """Do nothing more."""


@dataclass(frozen=True, slots=True)
class Done:
    """The intent needs no other try; `then` runs once its event is stored."""

    event: Event | None = None
    then: Callable[[], None] = nothing


@dataclass(frozen=True, slots=True)
class Later:
    """The intent is tried again."""

    delay_s: float
    failure: Failure


Outcome = Done | Later


def backoff(attempts: int, longest_s: float = 60.0) -> float:
    """Return the wait before the next try, after so many."""
    return min(2.0 ** min(attempts, 10), longest_s)


def patience(failure: Failure) -> float | None:
    """Return for how long the other side wants to be left alone; None when it does not say so."""
    if failure.kind is FailureKind.THROTTLED:
        return failure.retry_after_s or THROTTLE_S
    return None
