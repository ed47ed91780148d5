"""The engine: the one place where the state changes."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from shadow_autoscaler.core.events import ClockStepped, Event
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import Decision, State
from shadow_autoscaler.ports import Commit, LeaseLostError, Outgoing, Store
from shadow_autoscaler.runtime.steady import Watch

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
Decide = Callable[[State, Event, float, Deployment], Decision]
"""The core's function."""


_NOTHING = Decision()


def _says_nothing(commit: Commit) -> bool:
    """Whether there is nothing to write: most looks at the world find it as it is known."""
    return commit.decision == _NOTHING and not (commit.delivery_id or commit.finished or commit.postponed)


class DecideError(Exception):
    """The core failed on an event: a fault of ours, and nothing was written."""


class Observer(Protocol):
    """Someone who is told of every decision, such as the metrics."""

    def decided(self, event: Event | None, decision: Decision, before: State, now: float) -> None:
        """Look at a decision that is stored; `before` is the state that it is about to change."""
        ...


class Engine:
    """Decides, stores and applies, one event at a time, while this process holds the lease."""

    def __init__(
        self,
        store: Store,
        deployment: Deployment,
        decide: Decide,
        clock: Callable[[], float],
        observers: Sequence[Observer] = (),
        steady: Callable[[], float] | None = None,
    ) -> None:
        self.deployment = deployment
        self.store = store
        self.clock = clock
        """What people and other processes call the time; it may be set at any moment."""
        self.steady = steady or clock
        """Counts up whatever is done to `clock`; for waits that are not written down."""
        self._watch = Watch(clock, steady)
        self.dispatch: Callable[[Sequence[Outgoing]], None] = lambda _: None
        """Gets the intents of each decision, in order, once they are stored."""
        self._decide = decide
        self._observers = observers
        self._lock = threading.RLock()
        self._state: State | None = None

    @property
    def active(self) -> bool:
        """Whether this process decides."""
        return self._state is not None

    def activate(self) -> Sequence[Outgoing]:
        """Load the state after the lease was taken; return the unfinished intents."""
        with self._lock:
            outbox = self.store.outbox()
            self._state = self.store.load()
            self._watch.begin()
            return outbox

    def deactivate(self) -> None:
        """Forget the state: another process decides from now on."""
        with self._lock:
            self._state = None

    def handle(
        self,
        event: Event,
        delivery_id: str = "",
        finished: Sequence[int] = (),
        postponed: Mapping[int, float] | None = None,
    ) -> Decision:
        """Decide on an event and store it with what it settles; `LeaseLostError` when not the holder."""
        with self._lock:
            self._follow_clock()
            return self._take(event, delivery_id, finished, postponed)

    def settle(
        self,
        delivery_id: str = "",
        finished: Sequence[int] = (),
        postponed: Mapping[int, float] | None = None,
    ) -> None:
        """Store that a delivery or intents need nothing more, or need another try, without an event."""
        with self._lock:
            self._held()
            self._commit(None, Commit(Decision(), self.now(), delivery_id, finished, postponed or {}))

    def now(self) -> float:
        """Return the time by which is decided: that of `clock`, of which a step counts once it is stored."""
        return self._watch.now()

    def read(self, question: Callable[[State], _Answer]) -> _Answer:
        """Answer a short question about the state while nothing changes it."""
        with self._lock:
            return question(self._held())

    def _follow_clock(self) -> None:
        """Tell the core that the clock was set, before it decides anything by it."""
        by = self._watch.stepped()
        if by and self._state is not None:
            self._take(ClockStepped(by), ahead=by)
            self._watch.heed(by)
            _log.warning("the clock was set by %+.0f s: no time-out has come nearer by it", by)

    def _take(
        self,
        event: Event,
        delivery_id: str = "",
        finished: Sequence[int] = (),
        postponed: Mapping[int, float] | None = None,
        ahead: float = 0.0,
    ) -> Decision:
        state, now = self._held(), self.now() + ahead
        try:
            decision = self._decide(state, event, now, self.deployment)
        except Exception as error:
            raise DecideError(f"{type(event).__name__}: {error!r}") from error
        self._commit(event, Commit(decision, now, delivery_id, finished, postponed or {}))
        return decision

    def _held(self) -> State:
        if self._state is None:
            raise LeaseLostError("another process holds the lease")
        return self._state

    def _commit(self, event: Event | None, commit: Commit) -> None:
        state = self._held()
        if _says_nothing(commit):
            return
        try:
            outgoing = self.store.commit(commit)
        except LeaseLostError:
            self._state = None
            raise
        self._tell(event, commit, state)
        state.apply(commit.decision)
        self.dispatch(outgoing)

    def _tell(self, event: Event | None, commit: Commit, state: State) -> None:
        for observer in self._observers:
            try:
                observer.decided(event, commit.decision, state, commit.at)
            except Exception:  # noqa: BLE001 -- what is stored must be applied
                _log.exception("an observer failed", extra={"observer": type(observer).__name__})
