"""Which instances of a failed `pulumi up` had no room as spot, and should run on demand instead.

A declarative engine cannot try one flavor and then another. So market `spot-then-on-demand` takes the names
that run on demand as an input, and this reads them out of the errors of the `up` that failed.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal["no capacity", "quota", "other"]
"""Why an instance could not be made."""

# Nova's and the provider's words.
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
    """The engine's first line about it."""

    @property
    def name(self) -> str:
        """Logical name, `<group>-<digits>`."""
        return self.urn.rpartition("::")[2]

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


def failures(events: Iterable[Mapping[str, Any]]) -> list[Failure]:
    """Return the instances that `events` say could not be made.

    `events` are lines of `pulumi up --event-log FILE`, or diagnostics of a preview's or update's JSON.
    """
    found: dict[str, Failure] = {}
    for event in events:
        diagnostic = event.get("diagnosticEvent") or event
        urn, message = str(diagnostic.get("urn") or ""), str(diagnostic.get("message") or "")
        if diagnostic.get("severity") != "error" or _INSTANCE not in urn:
            continue
        failure = Failure(urn, _reason(message), message.strip().partition("\n")[0])
        # The engine says "update failed" after the provider's own words: keep the more telling one.
        if urn not in found or found[urn].reason == "other":
            found[urn] = failure
    return list(found.values())


def read_event_log(text: str) -> list[Mapping[str, Any]]:
    """Return the events in a log of one JSON object a line; a last line cut short by a kill is left out."""
    events: list[Mapping[str, Any]] = []
    for line in text.splitlines():
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError:
            continue
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
    return "no capacity" if any(word in message for word in _NO_CAPACITY) else "other"
