"""Looks at the world at intervals, so that nothing depends on being told."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shadow_autoscaler.core.events import JobsListed, LeftoversListed, QuotaRead, RunnersListed, ServersListed
from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Phase
from shadow_autoscaler.core.state import State
from shadow_autoscaler.ports import Cloud, Forge
from shadow_autoscaler.runtime.engine import Engine
from shadow_autoscaler.runtime.outbox import Lane, Outbox
from shadow_autoscaler.runtime.outcomes import backoff, patience

_log = logging.getLogger(__name__)
REDELIVERY_WINDOW_S = 86_400.0
"""How far back missed webhooks are asked for after a start."""
_CHANGING = frozenset({Phase.PLANNED, Phase.BUILDING, Phase.CLOSING, Phase.DELETING})


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between two looks."""

    tick: float = 5.0
    servers: float = 30.0
    jobs: float = 60.0
    leftovers: float = 300.0
    quota: float = 120.0
    redelivery: float = 300.0


class Read:
    """One kind of look, with patience when the other side has trouble."""

    def __init__(
        self, engine: Engine, outbox: Outbox, lane: Lane, name: str, look: Callable[[], float]
    ) -> None:
        self.name = name
        self._engine, self._outbox, self._lane, self._look = engine, outbox, lane, look
        self._failures = 0

    def step(self) -> float:
        """Look once, if this process decides and the other side has not asked for patience."""
        if not self._engine.active:
            return 1.0
        closed_s = self._outbox.closed_s(self._lane)
        if closed_s > 0:
            return closed_s
        try:
            pause, self._failures = self._look(), 0
        except PortError as error:
            return self._failed(error)
        return pause

    def _failed(self, error: PortError) -> float:
        self._failures += 1
        asked = patience(error.failure)
        if asked is not None:
            self._outbox.pause(self._lane, asked)
        pause = asked or backoff(self._failures)
        _log.warning("%s cannot be read: %s; next try in %.0f s", self.name, error, pause)
        return pause


class Looks:
    """What is looked at. Each method tells the engine and returns the seconds to the next look."""

    def __init__(self, engine: Engine, cloud: Cloud, forges: Mapping[ForgeKind, Forge], pace: Pace) -> None:
        self._engine, self._cloud, self._forges, self._pace = engine, cloud, forges, pace
        self._delivered_until: dict[ForgeKind, float] = {}

    def servers(self) -> float:
        """List our servers; often while any of them is to change."""
        asked_at = self._engine.now()
        servers = self._cloud.servers()
        self._engine.handle(ServersListed(servers, complete=True, asked_at=asked_at))
        return self._pace.tick if self._engine.read(_changing) else self._pace.servers

    def leftovers(self) -> float:
        """List what servers left behind."""
        self._engine.handle(LeftoversListed(self._cloud.leftovers(), complete=True))
        return self._pace.leftovers

    def quota(self) -> float:
        """Read the room that is left."""
        self._engine.handle(QuotaRead(self._cloud.quota()))
        return self._pace.quota

    def jobs(self, kind: ForgeKind) -> float:
        """List a forge's waiting and running jobs, then our runners there."""
        forge = self._forges[kind]
        self._engine.handle(JobsListed(forge.jobs(), complete=True, forge=kind.value))
        self._engine.handle(RunnersListed(kind.value, forge.runners(), complete=True))
        return self._pace.jobs

    def redeliver(self, kind: ForgeKind) -> float:
        """Ask for missed webhooks again."""
        now = self._engine.clock()
        # Never less far back than one turn, whatever was done to the clock meanwhile.
        since = min(self._delivered_until.get(kind, now - REDELIVERY_WINDOW_S), now - self._pace.redelivery)
        count = self._forges[kind].redeliver(since)
        self._delivered_until[kind] = now - self._pace.redelivery
        if count:
            _log.info("missed webhooks asked for again", extra={"forge": kind.value, "count": count})
        return self._pace.redelivery


def _changing(state: State) -> bool:
    return any(state.vms[name].phase in _CHANGING for names in state.index.live.values() for name in names)
