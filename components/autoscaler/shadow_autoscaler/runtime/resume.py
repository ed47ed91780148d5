"""What to do about intents found in the outbox at start: a former process may have carried them out."""

from collections.abc import Iterable
from dataclasses import replace

from shadow_autoscaler.core.events import RegisterFailed
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.intents import CreateServer, Register
from shadow_autoscaler.ports import Outgoing
from shadow_autoscaler.runtime.engine import Engine

_UNKNOWN = Failure(
    FailureKind.UNKNOWN_OUTCOME, "the process ended while the registration was under way; its name is removed"
)


def resume(engine: Engine, rows: Iterable[Outgoing]) -> list[Outgoing]:
    """Return the intents to carry out now.

    A create call looks for its server's mark first. A configuration that was being minted is given up: nobody
    holds it any more. Everything else does no harm when done twice.
    """
    kept: list[Outgoing] = []
    for row in rows:
        match row.intent:
            case CreateServer():
                kept.append(replace(row, intent=replace(row.intent, again=True)))
            case Register(vm=vm):
                engine.handle(RegisterFailed(vm, _UNKNOWN), finished=(row.number,))
            case _:
                kept.append(row)
    return kept
