"""Reads the creations out of a stack's state that were begun and never answered."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pulumi_cli import EngineError, pulumi, pulumi_json


@dataclass(frozen=True, slots=True)
class Pending:
    """A resource whose creation was begun: it may or may not exist."""

    urn: str
    type: str
    inputs: Mapping[str, Any]


def export(stack: str) -> dict[str, Any]:
    """Return the state of `stack`, secrets still encrypted.

    Raises:
        EngineError: the state can't be read.
    """
    state: Any = pulumi_json("stack", "export", "--stack", stack)
    if not isinstance(state, dict) or not _well_formed(cast("dict[str, Any]", state)):
        raise EngineError(
            f"the state of {stack!r} is not of the form that this knows; settle it by hand:"
            " `pulumi refresh`, or `pulumi stack export` and its pending_operations"
        )
    return cast("dict[str, Any]", state)


def _well_formed(state: Mapping[str, Any]) -> bool:
    try:
        return all(
            {"urn", "type"} <= entry["resource"].keys() and "type" in entry for entry in _operations(state)
        )
    except (AttributeError, KeyError, TypeError):
        return False


def creations(state: Mapping[str, Any]) -> list[Pending]:
    """Return the pending creations in an exported state."""
    return [
        Pending(entry["resource"]["urn"], entry["resource"]["type"], entry["resource"].get("inputs", {}))
        for entry in _operations(state)
        if entry["type"] == "creating"
    ]


def settled(state: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    """Return `state` with the creations in `found` (ID by URN) as resources and all other creations dropped.

    `pulumi refresh --import-pending-creates` forgets them instead, and `pulumi import` loses the inputs that
    a provider can't read back, such as user-data, which would replace the resource.
    """
    deployment = dict(state["deployment"])
    begun = [entry["resource"] for entry in _operations(state) if entry["type"] == "creating"]
    adopted = [_made(resource, found[resource["urn"]]) for resource in begun if resource["urn"] in found]
    deployment["resources"] = [*deployment.get("resources", []), *adopted]
    deployment["pending_operations"] = [e for e in _operations(state) if e["type"] != "creating"]
    return {**state, "deployment": deployment}


def restore(stack: str, state: Mapping[str, Any]) -> None:
    """Write `state` back as the state of `stack`, then read what the providers know of it.

    Raises:
        EngineError: the engine refused it.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # mode 0600
        json.dump(state, file)
        file.flush()
        pulumi("stack", "import", "--stack", stack, "--file", file.name)
    pulumi("refresh", "--yes", "--skip-preview", "--stack", stack)


def _operations(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    deployment: Any = state.get("deployment") or {}
    operations: list[dict[str, Any]] = deployment.get("pending_operations") or []
    return operations


def _made(resource: dict[str, Any], identity: str) -> dict[str, Any]:
    return {**resource, "id": identity, "outputs": {**resource.get("inputs", {}), "id": identity}}
