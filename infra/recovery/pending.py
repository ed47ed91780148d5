"""Reads the creations out of a stack's state that were begun and never answered."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class EngineError(RuntimeError):
    """The `pulumi` command failed; the text is its own."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A resource whose creation was begun: it may or may not exist."""

    urn: str
    type: str
    inputs: Mapping[str, Any]


def read(stack: str) -> list[Pending]:
    """Return the pending creations in the state of `stack`.

    Raises:
        EngineError: the state can't be read.
    """
    state: dict[str, Any] = json.loads(pulumi("stack", "export", "--stack", stack))
    operations: list[dict[str, Any]] = state["deployment"].get("pending_operations") or []
    return [
        Pending(entry["resource"]["urn"], entry["resource"]["type"], entry["resource"].get("inputs", {}))
        for entry in operations
        if entry["type"] == "creating"
    ]


def adopt(stack: str, found: Mapping[str, str]) -> None:
    """Take the resources in `found` (ID by URN) into the state and drop all other pending creations.

    Raises:
        EngineError: the refresh failed.
    """
    pairs = [f"--import-pending-creates={part}" for pair in found.items() for part in pair]
    pulumi("refresh", "--yes", "--skip-preview", "--stack", stack, "--clear-pending-creates", *pairs)


def pulumi(*arguments: str) -> str:
    """Run `pulumi` in the current project and return what it printed; raises `EngineError`."""
    command: Sequence[str] = ["pulumi", *arguments, "--non-interactive"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"`{' '.join(command[:3])}` failed:\n{done.stderr or done.stdout}".strip())
    return done.stdout
