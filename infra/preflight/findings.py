"""What a preflight check found wrong."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: where it was met, what is wrong, what to do."""

    place: str
    """Configuration key and API call, for example `image.name (Glance)`."""
    problem: str
    """Value, and what was expected."""
    remedy: str
    """What to do."""

    def __str__(self) -> str:
        return f"  {self.place}: {self.problem}; {self.remedy}"


class PreflightError(Exception):
    """The stack can't work as configured; nothing was created."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        lines = [f"the stack can't be built as configured ({len(findings)} fault(s)), nothing was created:"]
        super().__init__("\n".join([*lines, *map(str, findings)]))
        self.findings = tuple(findings)
