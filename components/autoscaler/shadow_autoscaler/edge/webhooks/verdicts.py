"""What becomes of a request."""

from collections.abc import Mapping
from dataclasses import dataclass

from shadow_autoscaler.ports import Delivery


@dataclass(frozen=True, slots=True)
class Request:
    """A webhook as it came in; header names in lower case."""

    headers: Mapping[str, str]
    body: bytes
    at: float
    """When it came, in seconds since the epoch."""

    def header(self, name: str) -> str:
        """Return a header, empty when it was not sent."""
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Accepted:
    """Genuine and of use: to be written down."""

    delivery: Delivery
    old_secret: bool = False
    """Whether it was signed with the former secret of a rotation."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Genuine and of no use: answered, not written down."""

    reason: str
    status: int = 202


@dataclass(frozen=True, slots=True)
class Refused:
    """Not genuine or not readable; nothing happens. `status` is what to answer."""

    status: int
    error: str
    remedy: str


Verdict = Accepted | Ignored | Refused
