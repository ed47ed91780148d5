"""GitLab's webhooks: a shared token in a header, or signed."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shadow_autoscaler.edge.webhooks import bodies, signatures
from shadow_autoscaler.edge.webhooks.verdicts import Accepted, Ignored, Refused, Request, Verdict
from shadow_autoscaler.ports import Delivery

EVENTS = frozenset({"Job Hook", "Pipeline Hook"})
_ID = re.compile(r"^[0-9A-Za-z_.:-]{1,128}$")
_UNKNOWN = Refused(
    401,
    "neither token nor signature matches",
    "set the webhook's secret token or signing token to the one that the configuration names",
)
_STALE = Refused(401, "the signature's timestamp is more than five minutes off", "set both clocks by NTP")


@dataclass(frozen=True, slots=True)
class Trusted:
    """What a genuine hook may show."""

    tokens: Sequence[str] = ()
    signing: Sequence[str] = ()


def verify(request: Request, trusted: Trusted) -> Verdict:
    """Judge a request by its signature, or by its token where it is not signed, then by its content."""
    number = _genuine(request, trusted)
    if isinstance(number, Refused):
        return number
    event = request.header("x-gitlab-event")
    if event not in EVENTS:
        return Ignored(f"event {event[:40]!r} is of no use here")
    try:
        document = bodies.parse(request.body)
    except bodies.UnreadableBodyError as error:
        return Refused(400, f"the body is {error}", "send what GitLab sends, without a custom template")
    if bodies.too_old(document, request.at):
        return Ignored("a recording: older than anything that GitLab delivers again")
    return Accepted(_delivery(request, event), old_secret=number > 0)


def _genuine(request: Request, trusted: Trusted) -> int | Refused:
    signature = request.header("webhook-signature")
    if signature and trusted.signing:
        return _signed(request, signature, trusted.signing)
    number = signatures.token(request.header("x-gitlab-token"), trusted.tokens)
    return _UNKNOWN if number is None else number


def _signed(request: Request, signature: str, secrets: Sequence[str]) -> int | Refused:
    timestamp = request.header("webhook-timestamp")
    hook_id = request.header("webhook-id")
    number = signatures.signed_hook(hook_id, timestamp, request.body, signature, secrets)
    if number is None:
        return _UNKNOWN
    return number if signatures.fresh(timestamp, request.at) else _STALE


def _delivery(request: Request, event: str) -> Delivery:
    named = (request.header(name) for name in ("idempotency-key", "webhook-id", "x-gitlab-event-uuid"))
    found = next((name for name in named if _ID.match(name)), None)
    name = found or hashlib.sha256(event.encode() + request.body).hexdigest()
    return Delivery(f"gitlab-{name}", "gitlab", event, request.body, request.at)
