"""Takes webhooks: verify, put into the queue, answer."""

import time
from typing import Any

from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.edge.functions import gateway, setting
from shadow_autoscaler.edge.gate import Gate
from shadow_autoscaler.edge.webhooks.verdicts import Accepted, Ignored, Refused, Request
from shadow_autoscaler.ports import Delivery


def handler(event: gateway.Event, context: object) -> dict[str, Any]:
    """Answer one webhook."""
    del context
    forge = gateway.path(event).rstrip("/").rpartition("/")[2]
    try:
        request = Request(gateway.headers(event), gateway.body(event), time.time())
    except gateway.BadRequestError as error:
        return gateway.answer(400, {"error": f"the body is no base64: {error}", "remedy": "send it as it is"})
    try:
        verdict = Gate(setting.config(), setting.secrets()).judge(forge, request)
    except PortError:
        remedy = {"error": "the webhook's secret cannot be read", "remedy": "see the function's log"}
        return gateway.answer(503, remedy, 30)
    match verdict:
        case Refused(status=status, error=fault, remedy=remedy_text):
            return gateway.answer(status, {"error": fault, "remedy": remedy_text})
        case Ignored(reason=reason, status=status):
            return gateway.answer(status, {"result": "ignored", "reason": reason})
        case Accepted(delivery=delivery):
            return put(delivery, gateway.answer(202, {"result": "accepted"}))


def put(delivery: Delivery, good: dict[str, Any]) -> dict[str, Any]:
    """Hand a delivery to the worker; return `good`, or what went wrong."""
    try:
        setting.queue().put(delivery)
    except PortError as error:
        if error.failure.kind is FailureKind.REFUSED:
            return gateway.answer(
                413, {"error": error.failure.text, "remedy": "use the server for such bodies"}
            )
        return gateway.answer(
            503, {"error": "the delivery could not be written", "remedy": "send it again"}, 5
        )
    return good
