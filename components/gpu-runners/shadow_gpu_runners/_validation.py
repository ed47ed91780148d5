"""Collects every fault of a component's inputs, so that a user meets them all at once and at preview."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import pulumi


class InvalidInputsError(pulumi.InputPropertiesError, pulumi.RunError):
    """The inputs of a resource are wrong.

    Being a `RunError`, it reaches the user of a Python program without a stack trace.
    """


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

    def add_missing(self, path: str, expected: str, remedy: str) -> None:
        """Note that the input at `path` was not given."""
        self.found.append((path, f"missing, expected {expected}; {remedy}"))

    def add_hidden(self, path: str, expected: str, remedy: str) -> None:
        """Note a fault of a value that must not be shown."""
        self.found.append((path, f"got a value (not shown), expected {expected}; {remedy}"))

    def one_of(self, path: str, value: object, allowed: Iterable[str]) -> None:
        """Note a fault unless `value` is one of `allowed`."""
        names = list(allowed)
        if value not in names:
            self.add(path, value, f"one of {', '.join(names)}", "take one of them")

    def raise_if_any(self) -> None:
        """Raise `InvalidInputsError` naming every fault, or return when there is none."""
        if not self.found:
            return
        lines = [f"  {path}: {reason}" for path, reason in self.found]
        raise InvalidInputsError(
            "\n".join([f"{self.where} has {len(self.found)} invalid input(s):", *lines]),
            [pulumi.InputPropertyErrorDetails(property_path=p, reason=r) for p, r in self.found],
        )


def checked(
    value: pulumi.Input[str], where: str, check: Callable[[Problems, str], None]
) -> pulumi.Output[str]:
    """Return `value` as an output that fails, naming `where`, when `check` notes a fault once it is known."""

    def verify(known: list[Any]) -> str:
        problems = Problems(where)
        check(problems, cast("str", known[0]))
        problems.raise_if_any()
        return cast("str", known[0])

    return pulumi.Output.all(value).apply(verify)


def camel(name: str) -> str:
    """Return the name that Pulumi gives to the input `name`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def whole(value: float) -> int:
    """Return `value` as an integer: a number from another language arrives as a float."""
    return int(value)
