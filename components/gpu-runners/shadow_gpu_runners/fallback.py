"""Which instances of a failed `pulumi up` had no room as spot, and should run on demand instead.

A declarative engine cannot try one flavor and then another. So market `spot-then-on-demand` takes the names
that run on demand as an input, and this reads them out of the errors of the `up` that failed.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from shadow_gpu_runners.urns import name_of

Reason = Literal["no capacity", "quota", "in error", "other"]
"""Why an instance could not be made; `in error` is a server whose fault only Nova can tell."""

# Nova's and the provider's words.
_IN_ERROR = ("unexpected state 'ERROR'", "is in state ERROR")
_SERVER_ID = re.compile(r"\(([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\)")
_NO_CAPACITY = ("No valid host", "Exhausted all hosts", "not enough hosts", "NoValidHost", "no capacity")
_QUOTA = ("Quota exceeded", "quota exceeded", "TooManyInstances", "exceeds quota", "Exceeded quota")
_INSTANCE = "openstack:compute/instance:Instance::"


@dataclass(frozen=True, slots=True)
class Failure:
    """An instance that could not be made."""

    urn: str
    """Uniform resource name."""

    reason: Reason
    """Why, told from the message."""

    message: str
    """The line that tells it."""

    server_id: str = ""
    """ID of the server, where one was made; its fault is in `openstack server show -c fault <id>`."""

    @property
    def name(self) -> str:
        """Logical name, `<group>-<digits>`."""
        return name_of(self.urn)

    @property
    def group(self) -> str:
        """Logical name of its `InstanceGroup`."""
        return self.name.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to set so that the next `up` can go on."""

    fallback: Mapping[str, tuple[str, ...]]
    """Instance names to add to `on_demand_fallback`, by group."""

    others: tuple[Failure, ...]
    """Failures that another market does not mend."""


def failures(events: Iterable[Mapping[str, Any]], faults: Mapping[str, str] | None = None) -> list[Failure]:
    """Return the instances that `events` say could not be made.

    `events` are the lines of `pulumi up --json`, or diagnostics of a preview's JSON. `faults` has Nova's
    fault message by server ID: the provider leaves it out, and without it a server is just `in error`.
    """
    found: dict[str, Failure] = {}
    for event in events:
        body: Any = event.get("diagnosticEvent") or event
        if not isinstance(body, Mapping):
            continue
        diagnostic = cast("Mapping[str, Any]", body)
        urn, message = str(diagnostic.get("urn") or ""), str(diagnostic.get("message") or "")
        if diagnostic.get("severity") != "error" or _INSTANCE not in urn:
            continue
        failure = _failure(urn, message, faults or {})
        # The engine says "update failed" after the provider's own words: keep the more telling one.
        if urn not in found or found[urn].reason == "other":
            found[urn] = failure
    return list(found.values())


def _failure(urn: str, message: str, faults: Mapping[str, str]) -> Failure:
    match = _SERVER_ID.search(message)
    server_id = match[1] if match else ""
    told = faults.get(server_id, message)
    lines = told.strip().splitlines() or [""]
    telling = next((line for line in lines if _reason(line) != "other"), lines[0])
    return Failure(urn, _reason(told), telling.strip(), server_id)


def read_event_log(text: str) -> list[Mapping[str, Any]]:
    """Return the events of `pulumi up --json`, one a line; others are left out."""
    events: list[Mapping[str, Any]] = []
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(found, dict):
            events.append(cast("dict[str, Any]", found))
    return events


def propose(found: Iterable[Failure], prefixes: Mapping[str, str] | None = None) -> Proposal:
    """Return which instances to run on demand; `prefixes` has each group's `name_prefix` that is its own."""
    names: dict[str, list[str]] = {}
    others: list[Failure] = []
    for failure in found:
        if failure.reason != "no capacity":
            others.append(failure)
            continue
        prefix = (prefixes or {}).get(failure.group, failure.group)
        names.setdefault(failure.group, []).append(f"{prefix}-{failure.name.rpartition('-')[2]}")
    return Proposal({group: tuple(sorted(members)) for group, members in names.items()}, tuple(others))


def _reason(message: str) -> Reason:
    if any(word in message for word in _QUOTA):
        return "quota"
    if any(word in message for word in _NO_CAPACITY):
        return "no capacity"
    return "in error" if any(word in message for word in _IN_ERROR) else "other"
