"""Collects every fault of a component's inputs, so that a user meets them all at once and at preview."""

from dataclasses import dataclass, field

import pulumi


@dataclass(slots=True)
class Problems:
    """The faults found so far in the inputs of one resource."""

    where: str
    """Resource as the user knows it, for example `RunnerNetwork 'ci'`."""

    found: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(property path, reason) of each fault."""

    def add(self, path: str, value: object, expected: str, remedy: str) -> None:
        """Note one fault: the input at `path` is `value`, `expected` is what fits, `remedy` what to do."""
        self.found.append((path, f"got {value!r}, expected {expected}; {remedy}"))

    def raise_if_any(self) -> None:
        """Raise `pulumi.InputPropertiesError` naming every fault, or return when there is none."""
        if not self.found:
            return
        lines = [f"  {path}: {reason}" for path, reason in self.found]
        raise pulumi.InputPropertiesError(
            "\n".join([f"{self.where} has {len(self.found)} invalid input(s):", *lines]),
            [pulumi.InputPropertyErrorDetails(property_path=p, reason=r) for p, r in self.found],
        )
