"""Errors of the gate: each names every fault found, where it is and what to do about it."""

from collections.abc import Iterable

from shadow_perfgate.masking import mask


class PerfgateError(Exception):
    """What the gate tells its user: one or more faults of one input, each a full sentence with its place."""

    exit_code = 2

    def __init__(self, *faults: str) -> None:
        faults = tuple(map(mask, faults))
        super().__init__("\n".join(faults))
        self.faults = faults


class InputError(PerfgateError):
    """A configuration, a session or an option is wrong (exit code 2)."""


class NewerError(InputError):
    """A session was written by a newer version of this program (exit code 2)."""


class MeasureError(PerfgateError):
    """The workload itself failed: it crashed, gave no tokens or printed no JSON (exit code 2)."""


class BaseArmError(MeasureError):
    """The workload failed in the checkout of the base: nothing is said of the candidate."""


class EnvironmentFaultError(PerfgateError):
    """The machine is not fit to measure on: foreign processes, throttling, changed driver (exit code 3)."""

    exit_code = 3


class StoreError(PerfgateError):
    """A baseline store could not be read or written (exit code 3: says nothing about the candidate)."""

    exit_code = 3


class Faults:
    """The faults found so far in one input, so that a user meets them all at once."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[str] = []

    def add(self, where: str, got: object, expected: str, remedy: str) -> None:
        """Note that the value `got` at `where` is not what was `expected`, and the `remedy`."""
        self.found.append(f"{self.source}: {where}: got {got!r}, expected {expected}; {remedy}")

    def extend(self, faults: Iterable[str]) -> None:
        """Note faults that were already put into words."""
        self.found.extend(faults)

    def raise_if_any(self) -> None:
        """Raise `InputError` naming every fault, or return when there is none."""
        if self.found:
            raise InputError(*self.found)
