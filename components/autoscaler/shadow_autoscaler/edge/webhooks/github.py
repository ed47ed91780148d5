"""GitHub's webhooks."""

import hashlib
import re
from collections.abc import Sequence

from shadow_autoscaler.edge.webhooks import bodies, signatures
from shadow_autoscaler.edge.webhooks.verdicts import Accepted, Ignored, Refused, Request, Verdict
from shadow_autoscaler.ports import Delivery

EVENTS = frozenset({"workflow_job", "workflow_run"})
_GUID = re.compile(r"^[0-9A-Za-z-]{1,64}$")
_UNSIGNED = Refused(
    401,
    "the signature does not match",
    "set the webhook's secret to the one that github.webhook_secret names",
)


def verify(request: Request, secrets: Sequence[str]) -> Verdict:
    """Judge a request by its signature over the raw bytes, then by its content."""
    number = signatures.github(request.body, request.header("x-hub-signature-256"), secrets)
    if number is None:
        return _UNSIGNED
    event = request.header("x-github-event")
    if event == "ping":
        return Ignored("pong", 200)
    if event not in EVENTS:
        return Ignored(f"event {event[:40]!r} is of no use here")
    try:
        document = bodies.parse(request.body)
    except bodies.UnreadableBodyError as error:
        return Refused(400, f"the body is {error}", "set the webhook's content type to application/json")
    if bodies.too_old(document, request.at):
        return Ignored("a recording: older than anything that GitHub delivers again")
    return Accepted(_delivery(request, event), old_secret=number > 0)


def _delivery(request: Request, event: str) -> Delivery:
    guid = request.header("x-github-delivery")
    if not _GUID.match(guid):
        guid = hashlib.sha256(event.encode() + request.body).hexdigest()
    return Delivery(f"github-{guid}", "github", event, request.body, request.at)
