"""Faults that a test switches on: slow or failing answers, expired tokens, lost, late or doubled hooks.

`reset` cuts the connection before a call is carried out, `reset_after` when it has been.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from localcloud.gitlab.errors import ApiError
from localcloud.gitlab.instance import Instance
from localcloud.gitlab.store import Row

KINDS = ("http", "reset", "reset_after", "token_expired", "hook_lost", "hook_doubled", "hook_delayed")
FIELDS = {"method", "path", "status", "body", "headers", "delay_s", "times", "kind", "event"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault to apply now; `kind` is empty when there is none."""

    kind: str = ""
    status: int | None = None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    delay_s: float = 0.0


def add(instance: Instance, rule: Row) -> int:
    """Keep a rule after checking all its fields; `times` limits how often it strikes."""
    problems = [
        f"{name} is not a field of a fault; known are {', '.join(sorted(FIELDS))}"
        for name in set(rule) - FIELDS
    ]
    if rule.get("kind", "http") not in KINDS:
        problems.append(f"kind {rule['kind']!r} is unknown; use one of {', '.join(KINDS)}")
    for name in ("path", "event"):
        try:
            re.compile(str(rule.get(name, "")))
        except re.error as error:
            problems.append(f"{name} {rule[name]!r} is no regular expression: {error}")
    if rule.get("kind", "http") == "http" and not ({"status", "delay_s"} & set(rule)):
        problems.append("a fault of kind http needs status or delay_s")
    if problems:
        raise ApiError(400, {"message": problems})
    return instance.store.insert("faults", rule=rule, remaining=rule.get("times"))


def take_http(instance: Instance, method: str, path: str) -> Fault:
    """The fault for a request, counted as used."""
    for row in instance.store.find("faults"):
        rule = row["rule"]
        if str(rule.get("kind", "http")).startswith("hook_") or rule.get("method", method).upper() != method:
            continue
        if re.search(str(rule.get("path", "")), path):
            return _use(instance, row)
    return Fault()


def take_hook(instance: Instance, event: str, url: str) -> Fault:
    """The fault for a webhook delivery, counted as used."""
    for row in instance.store.find("faults"):
        rule = row["rule"]
        if not str(rule.get("kind", "http")).startswith("hook_"):
            continue
        if re.search(str(rule.get("event", "")), event) and re.search(str(rule.get("path", "")), url):
            return _use(instance, row)
    return Fault()


def _use(instance: Instance, row: Row) -> Fault:
    if row["remaining"] is not None:
        left = row["remaining"] - 1
        if left > 0:
            instance.store.update("faults", row["id"], remaining=left)
        else:
            instance.store.delete("faults", id=row["id"])
    rule = row["rule"]
    return Fault(
        str(rule.get("kind", "http")), rule.get("status"), rule.get("body"), dict(rule.get("headers") or {}),
        float(rule.get("delay_s", 0)),
    )  # fmt: skip
