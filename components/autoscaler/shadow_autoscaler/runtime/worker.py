"""Workers: carry out what the outbox gives them, and tell the engine how it went."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from shadow_autoscaler.core.intents import CreateServer
from shadow_autoscaler.ports import LeaseLostError, Outgoing
from shadow_autoscaler.runtime.engine import Engine
from shadow_autoscaler.runtime.outbox import Lane, Outbox
from shadow_autoscaler.runtime.outcomes import Later, Outcome, backoff, patience

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker of one lane; several may share a lane."""

    engine: Engine
    outbox: Outbox
    lane: Lane
    carry_out: Callable[[Outgoing], Outcome]

    def step(self) -> bool:
        """Carry out one intent; False when none is due."""
        row = self.outbox.take(self.lane)
        if row is None:
            return False
        try:
            self._settle(row, self.carry_out(row))
        except LeaseLostError:
            _log.info("intent left to the process that holds the lease", extra={"intent": repr(row.intent)})
        except Exception:  # noqa: BLE001 -- a fault of ours must not end the worker
            _log.exception("intent failed", extra={"intent": repr(row.intent)})
            self.outbox.put([self._later(row, backoff(row.attempts + 1))])
        return True

    def _settle(self, row: Outgoing, outcome: Outcome) -> None:
        self._heed(outcome)
        if isinstance(outcome, Later):
            later = self._later(row, outcome.delay_s)
            _log.info("intent postponed", extra={"intent": repr(row.intent), "fault": outcome.failure.text})
            self.engine.settle(postponed={row.number: later.due_at})
            self.outbox.put([later])
            return
        if outcome.event is None:
            self.engine.settle(finished=(row.number,))
        else:
            self.engine.handle(outcome.event, finished=(row.number,))
        outcome.then()

    def _heed(self, outcome: Outcome) -> None:
        failure = outcome.failure if isinstance(outcome, Later) else getattr(outcome.event, "failure", None)
        asked = patience(failure) if failure else None
        if asked is not None:
            self.outbox.pause(self.lane, asked)

    def _later(self, row: Outgoing, delay_s: float) -> Outgoing:
        intent = replace(row.intent, again=True) if isinstance(row.intent, CreateServer) else row.intent
        return replace(row, intent=intent, due_at=self.engine.now() + delay_s, attempts=row.attempts + 1)
