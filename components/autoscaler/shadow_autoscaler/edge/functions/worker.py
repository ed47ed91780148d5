"""Handles what the webhook and VM functions put into the queue."""

import logging
from typing import TYPE_CHECKING, Any

from shadow_autoscaler.adapters.sqs_queue import unpack
from shadow_autoscaler.edge.functions import setting
from shadow_autoscaler.edge.functions.gateway import Event
from shadow_autoscaler.edge.functions.turning import base_of, turn

if TYPE_CHECKING:
    from shadow_autoscaler.ports import Delivery

_log = logging.getLogger(__name__)
PATIENCE_S = 5.0
"""How long to wait for another call's lease; then the other call or the tick handles the inbox."""


def handler(event: Event, context: setting.Context) -> dict[str, Any]:
    """Handle a batch; messages that cannot be read are named, so that only they come again."""
    deliveries: list[Delivery] = []
    failed: list[dict[str, str]] = []
    for record in event.get("Records", ()):
        try:
            deliveries.append(unpack(record["body"]))
        except (ValueError, KeyError, TypeError) as error:
            _log.error("message not understood: %s", error, extra={"message_id": record.get("messageId")})
            failed.append({"itemIdentifier": str(record.get("messageId"))})
    # Durable before anything is decided: a call that fails from here on loses nothing.
    base_of().store.accept(deliveries)
    with turn(context, PATIENCE_S) as mine:
        if mine.held:
            mine.turns.work(mine.until)
    return {"batchItemFailures": failed}
