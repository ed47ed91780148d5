"""Answers VMs: reports go into the queue, a configuration is minted within the call."""

from typing import Any

from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.edge.callbacks import Callbacks, Caller, Reply
from shadow_autoscaler.edge.functions import gateway, setting
from shadow_autoscaler.edge.functions.turning import Turn, turn
from shadow_autoscaler.edge.functions.webhook import put

PATIENCE_S = 10.0


def handler(event: gateway.Event, context: setting.Context) -> dict[str, Any]:
    """Answer one VM."""
    vm, _, name = gateway.path(event).partition("/vm/v1/")[2].partition("/")
    caller = Caller(vm, gateway.headers(event).get("authorization", ""), gateway.peer(event))
    try:
        body = gateway.body(event)
    except gateway.BadRequestError as error:
        return gateway.answer(400, {"error": f"the body is no base64: {error}", "remedy": "send it as it is"})
    if name not in {"status", "reclaim", "config"}:
        return gateway.answer(404, {"error": f"no such path: {name[:40]}", "remedy": "see the VM protocol"})
    try:
        with turn(context, PATIENCE_S if name == "config" else 0.0) as mine:
            return _answer(mine, caller, name, body)
    except PortError as error:
        return gateway.answer(503, {"error": error.failure.text, "remedy": "ask again"}, 5)


def _answer(mine: Turn, caller: Caller, name: str, body: bytes) -> dict[str, Any]:
    config = mine.base.config
    callbacks = Callbacks(
        mine.service.engine,
        mine.service.handover,
        mine.base.secrets,
        config.callback_key,
        bind_address=config.listen.bind_address,
    )
    if name == "config":
        return _plain(_config(mine, callbacks, caller, body))
    taken = callbacks.report(caller, name, body)
    return _plain(taken) if isinstance(taken, Reply) else put(taken, gateway.answer(204))


def _config(mine: Turn, callbacks: Callbacks, caller: Caller, body: bytes) -> Reply:
    begun = callbacks.config(caller, body)
    if isinstance(begun, Reply):
        return begun
    mine.turns.work(mine.until)
    return (
        callbacks.answer(caller.vm, begun.result()) if begun.done() else callbacks.give_up(caller.vm, begun)
    )


def _plain(reply: Reply) -> dict[str, Any]:
    return gateway.answer(reply.status, reply.body, reply.retry_after_s)
