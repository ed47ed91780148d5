"""Faults that tests switch on: which calls or deliveries they hit, and what happens instead."""

import re
from dataclasses import dataclass

from localcloud.github.errors import ApiError, bad_credentials, secondary_limit
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

REQUEST_KINDS = ("answer", "after", "secondary_limit", "primary_limit", "token_expiry", "busy", "conflict")
DELIVERY_KINDS = ("delivery_lost", "delivery_dropped", "delivery_doubled", "delivery_delayed")
_FIELDS = {"id", "kind", "method", "path", "status", "body", "headers", "delay_s", "times", "retry_after_s"}


def add(sim: Simulator, rule: Doc) -> Doc:
    """Keep a rule.

    Raises:
        ApiError: 422 that names every wrong field of the rule.
    """
    wrong = [f"{name}: unknown field" for name in sorted(rule.keys() - _FIELDS)]
    kind = rule.get("kind", "answer")
    if kind not in REQUEST_KINDS + DELIVERY_KINDS:
        wrong.append(f"kind: {kind!r} is none of {', '.join(REQUEST_KINDS + DELIVERY_KINDS)}")
    try:
        re.compile(rule.get("path", ""))
    except re.error as error:
        wrong.append(f"path: not a regular expression: {error}")
    if wrong:
        raise ApiError(422, "Wrong fault rule", errors=list(wrong))
    return sim.store.save("fault", {**rule, "kind": kind, "id": sim.store.next_id("fault")})


def take(sim: Simulator, kinds: tuple[str, ...], method: str, path: str) -> Doc | None:
    """The first rule that hits; a rule with `times` is used up by that many hits."""
    for rule in sim.store.find("fault"):
        if rule["kind"] not in kinds or rule.get("method", method) not in (method, "*"):
            continue
        if not re.search(rule.get("path", ""), path):
            continue
        _use(sim, rule)
        return rule
    return None


def _use(sim: Simulator, rule: Doc) -> None:
    if "times" not in rule:
        return
    rule["times"] -= 1
    if rule["times"] > 0:
        sim.store.save("fault", rule)
    else:
        sim.store.remove("fault", rule)


@dataclass(frozen=True, slots=True)
class Injected:
    """The answer that a rule gives."""

    status: int
    body: object
    headers: dict[str, str]


def answer(rule: Doc) -> Injected:
    """What a rule of a request kind answers; `after` means that the call was carried out all the same."""
    if error := _known(rule):
        return Injected(error.status, error.body(), error.headers)
    status = rule.get("status", 502)
    body = rule.get("body", {"message": "Server Error"})
    return Injected(status, body, rule.get("headers", {}))


def _known(rule: Doc) -> ApiError | None:
    known = {
        "secondary_limit": secondary_limit(rule.get("retry_after_s", 60)),
        "token_expiry": bad_credentials(),
        "busy": ApiError(422, "Bad request - Runner is currently running a job and cannot be deleted."),
        "conflict": ApiError(409, "Conflict"),
    }
    return known.get(rule["kind"])
