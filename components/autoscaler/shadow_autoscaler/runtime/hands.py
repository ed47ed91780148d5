"""Which lane an intent belongs to, and who carries it out there."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from shadow_autoscaler.core.intents import (
    Alarm,
    CheckJob,
    CheckServer,
    CreateServer,
    DeleteServer,
    Deregister,
    Intent,
    Register,
    RemoveLeftover,
    RemoveRunner,
    Rerun,
)
from shadow_autoscaler.ports import Outgoing
from shadow_autoscaler.runtime.cloud_hands import CloudHands
from shadow_autoscaler.runtime.forge_hands import ForgeHands
from shadow_autoscaler.runtime.outbox import Lane
from shadow_autoscaler.runtime.outcomes import Done, Outcome

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hands:
    """Carries out any intent."""

    cloud: CloudHands
    forge: ForgeHands

    def lane(self, row: Outgoing) -> Lane:
        """Return the lane of an intent."""
        intent = row.intent
        if isinstance(intent, Register | Deregister):
            return Lane.of(self.forge.forge_of(intent.vm))
        if isinstance(intent, RemoveRunner):
            return Lane.of(intent.forge)
        if isinstance(intent, CheckJob | Rerun):
            return Lane.of(intent.key.forge)
        return Lane.LOCAL if isinstance(intent, Alarm) else Lane.CLOUD

    def carry_out(self, row: Outgoing) -> Outcome:
        """Carry one intent out."""
        return self._action(row.intent, row.attempts)()

    def _action(self, intent: Intent, attempts: int) -> Callable[[], Outcome]:
        match intent:
            case CreateServer() | DeleteServer() | CheckServer() | RemoveLeftover():
                return lambda: self._at_cloud(intent, attempts)
            case Alarm():
                return lambda: _alarm(intent)
            case _:
                return lambda: self._at_forge(intent, attempts)

    def _at_cloud(
        self, intent: CreateServer | DeleteServer | CheckServer | RemoveLeftover, attempts: int
    ) -> Outcome:
        match intent:
            case CreateServer():
                return self.cloud.create(intent)
            case DeleteServer():
                return self.cloud.delete(intent)
            case CheckServer():
                return self.cloud.check(intent, attempts)
            case RemoveLeftover():
                return self.cloud.remove(intent)

    def _at_forge(
        self, intent: Register | Deregister | RemoveRunner | CheckJob | Rerun, attempts: int
    ) -> Outcome:
        match intent:
            case Register():
                return self.forge.register(intent)
            case Deregister():
                return self.forge.deregister(intent)
            case RemoveRunner():
                return self.forge.remove_runner(intent, attempts)
            case CheckJob():
                return self.forge.check(intent, attempts)
            case Rerun():
                return self.forge.rerun(intent, attempts)


def _alarm(intent: Alarm) -> Outcome:
    _log.error("alarm: %s", intent.text, extra={"subject": intent.subject})
    return Done()
