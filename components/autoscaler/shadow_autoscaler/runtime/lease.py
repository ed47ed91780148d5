"""Only one of several processes decides: the one that holds the lease."""

import logging
from collections.abc import Callable, Sequence

from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.ports import Outgoing
from shadow_autoscaler.runtime.engine import Engine

_log = logging.getLogger(__name__)
LEASE_S = 15.0
RENEW_S = 4.0


class Lease:
    """Takes the lease, renews it, and lets go when it is lost."""

    def __init__(
        self,
        engine: Engine,
        owner: str,
        taken: Callable[[Sequence[Outgoing]], None],
        lost: Callable[[], None],
        seconds: float = LEASE_S,
    ) -> None:
        self._engine, self._owner, self._seconds = engine, owner, seconds
        self._taken, self._lost = taken, lost
        self._holding = False
        self.fault = ""
        """Why this process does not decide though it could: the state cannot be read."""

    def step(self) -> float:
        """Take or renew; return the seconds to the next turn."""
        held = self._engine.store.lease(self._owner, self._seconds, self._engine.clock())
        if held and not self._engine.active:
            self._end()
            return self._try()
        if not held:
            self._end()
        return self._seconds * RENEW_S / LEASE_S if held else self._seconds / 10

    def give_back(self) -> None:
        """Let another process take over at once."""
        if self._holding:
            self._let_go()
            self._engine.store.lease("", 0.0, self._engine.clock())
            _log.info("the lease is given back", extra={"owner": self._owner})

    def _try(self) -> float:
        """Begin, unless the state cannot be read: then whoever can is welcome to the lease."""
        try:
            self._begin()
        except PortError as error:
            if error.failure.kind is not FailureKind.CONFIG:
                raise
            self._engine.store.lease("", 0.0, self._engine.clock())
            self._tell(error.failure.text)
            return self._seconds
        self.fault = ""
        return self._seconds * RENEW_S / LEASE_S

    def _tell(self, fault: str) -> None:
        if fault != self.fault:
            _log.error("this process does not decide: %s", fault, extra={"owner": self._owner})
        self.fault = fault

    def _begin(self) -> None:
        rows = self._engine.activate()
        self._holding = True
        try:
            self._taken(rows)
        except BaseException:
            # Half begun is not begun: the intents that were not put would lie there until the next start.
            self._let_go()
            raise
        _log.info("this process decides", extra={"owner": self._owner, "intents": len(rows)})

    def _end(self) -> None:
        if self._holding:
            self._let_go()
            _log.warning("another process decides", extra={"owner": self._owner})

    def _let_go(self) -> None:
        self._holding = False
        self._engine.deactivate()
        self._lost()
