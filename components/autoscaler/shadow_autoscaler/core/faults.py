"""Failures of a port, told apart by what to do about them."""

from dataclasses import dataclass
from enum import StrEnum


class FailureKind(StrEnum):
    """What a failure asks for."""

    CAPACITY = "capacity"
    """No host has room for this flavor: climb the ladder."""
    QUOTA = "quota"
    """The project's limit is reached: wait."""
    CONFIG = "config"
    """Wrong image, flavor, network, group: no retry mends it; the pool is broken."""
    AUTH = "auth"
    """The credential is refused, also after a new sign-in."""
    THROTTLED = "throttled"
    """Too many calls: wait as told."""
    CONFLICT = "conflict"
    """The name exists or the object is in another state."""
    TRANSIENT = "transient"
    """5xx, refused connection before sending: try again."""
    UNKNOWN_OUTCOME = "unknown-outcome"
    """The request may have been carried out: look before trying again."""
    REFUSED = "refused"
    """The forge says never: 403 or 404 on what should work."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure of a call."""

    kind: FailureKind
    text: str
    """What the other side said, without secrets, at most 300 characters."""
    retry_after_s: float | None = None
    resource: str = ""
    """Of a quota failure: cores, instances, ram, volumes, gigabytes, ports, floating_ips, addresses."""


class PortError(Exception):
    """A call to a port failed; `failure` says what to do about it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.text}")
        self.failure = failure
