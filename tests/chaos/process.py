"""The autoscaler's process: the real runtime over stand-ins, stepped in virtual time, killed at any step."""

import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future

from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.events import Event
from shadow_autoscaler.core.faults import PortError
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.edge.callbacks import Callbacks, Caller, Reply
from shadow_autoscaler.ports import Delivery, LeaseLostError, Outgoing, Registration
from shadow_autoscaler.runtime.engine import Engine, Observer
from shadow_autoscaler.runtime.outbox import Lane
from shadow_autoscaler.runtime.outcomes import Outcome, backoff
from shadow_autoscaler.runtime.reads import Pace
from shadow_autoscaler.runtime.service import CLOUD_WORKERS, Service, World
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import FakeCloud
from shadow_autoscaler.testing.forge import FakeForge
from shadow_autoscaler.testing.secrets import FakeSecrets
from shadow_autoscaler.testing.store import FakeStore

PACE = Pace(tick=10.0)
KEY, SECRET = "callback-key", "callback secret of the simulation"


class Killed(BaseException):
    """The process is dead from this point on."""


class Process:
    """One life of the process."""

    def __init__(
        self,
        clock: VirtualClock,
        store: FakeStore,
        cloud: FakeCloud,
        forges: dict[ForgeKind, FakeForge],
        deployment: Deployment,
        pace: Pace,
        seed: str,
        died: Callable[[], None],
        observers: Sequence[Observer],
        event_of: Callable[[str], Event],
    ) -> None:
        self._clock, self._random, self._died = clock, random.Random(seed), died
        self.alive = True
        self._awake_at = 0.0
        engine = Engine(store, deployment, decide, clock.now, observers, clock.steady)
        world = World(
            cloud,
            forges,
            dict.fromkeys(forges, lambda name, _body: (event_of(name),)),
            user_data=lambda vm: f"user-data of {vm.name}",
            pace=pace,
        )
        self.service = Service(engine, world, "chaos")
        self.callbacks = Callbacks(engine, self.service.handover, FakeSecrets({KEY: SECRET}), KEY)
        self._busy = dict.fromkeys(Lane, 0)
        self._pumps: dict[Lane, float] = {}
        put = self.service.outbox.put
        self.service.outbox.put = lambda rows: self._put(put, rows)  # type: ignore[method-assign]
        engine.dispatch = self.service.outbox.put
        self._every(self.service.lease.step, pace.tick)
        self._every(self.service._tick)
        # What comes in is handled at once; this only finds what a former life left.
        self._every(self.service._inbox_turn, pace.tick)
        for read in self.service.reads:
            self._every(read.step)

    def accept(self, deliveries: Sequence[Delivery]) -> bool:
        """Take deliveries as the web server does; False when the sender gets no 2xx."""
        if self._asleep:
            return False
        taken = False

        def store() -> None:
            nonlocal taken
            self.service.engine.store.accept(deliveries)
            taken = True
            self._clock.after(0.01, lambda: self.guard(self.service.inbox.step))

        self.guard(store)
        return taken

    def report(self, caller: Caller, name: str, body: bytes) -> bool:
        """Take a VM's report; False when it gets no 2xx."""
        if self._asleep:
            return False
        answers = list[Delivery | Reply]()
        self.guard(lambda: answers.append(self.callbacks.report(caller, name, body)))
        return bool(answers) and isinstance(answers[0], Delivery) and self.accept([answers[0]])

    def config(self, caller: Caller, body: bytes) -> "Reply | Future[Registration | None] | None":
        """Begin to answer a VM that wants its configuration; None when the connection breaks."""
        if self._asleep:
            return None
        answers = list[Reply | Future[Registration | None]]()
        self.guard(lambda: answers.append(self.callbacks.config(caller, body)))
        return answers[0] if answers else None

    def answer(self, vm: str, begun: "Reply | Future[Registration | None] | None") -> Reply | None:
        """Return what the VM gets; None when the connection breaks."""
        if self._asleep or not self.alive:
            return None
        if not isinstance(begun, Future):
            return begun
        if begun.done():
            return self.callbacks.answer(vm, begun.result())
        return self.callbacks.give_up(vm, begun)

    def guard(self, step: Callable[[], object]) -> None:
        """Run one step of a living process; faults are outlived as the threads do, a kill is the end."""
        if not self.alive:
            return
        if self._asleep:
            self._clock.after(self._awake_at - self._clock.true, lambda: self.guard(step))
            return
        try:
            step()
        except Killed:
            self.kill()
        except (PortError, LeaseLostError):
            pass

    def kill(self) -> None:
        """Die: what was only in memory is lost."""
        if self.alive:
            self.alive = False
            self._died()

    def suspend(self, seconds: float) -> None:
        """Stop in the midst of everything; its wall clock goes on, and its steady clock does or does not."""
        if self.alive and not self._asleep:
            self._awake_at = self._clock.true + seconds
            if self._random.random() < 0.5:
                self._clock.after(seconds, lambda: self._wake(seconds))

    @property
    def _asleep(self) -> bool:
        return self._clock.true < self._awake_at

    def _wake(self, seconds: float) -> None:
        self._clock.slept += seconds

    def _every(self, step: Callable[[], float], at_least_s: float = 0.5) -> None:
        def turn() -> None:
            pause = 1.0
            try:
                pause = step()
            finally:
                if self.alive:
                    self._clock.after(max(pause, at_least_s), lambda: self.guard(turn))

        self._clock.after(0.0, lambda: self.guard(turn))

    def _put(self, put: Callable[[Iterable[Outgoing]], None], rows: Iterable[Outgoing]) -> None:
        rows = list(rows)
        put(rows)
        for lane in {self.service.hands.lane(row): None for row in rows}:
            self._pump_later(lane)

    def _pump_later(self, lane: Lane) -> None:
        entries = self.service.outbox._entries[lane]
        if not entries:
            return
        due = max(entries[0].due_at, self.service.outbox._paused[lane]) - self._clock.steady()
        at = self._clock.true + max(0.0, due) + self._random.uniform(0.01, 0.3)
        # One wake-up per lane is enough, unless this one is earlier.
        if self._pumps.get(lane, float("inf")) > at:
            self._pumps[lane] = at
            self._clock.after(at - self._clock.true, lambda: self.guard(lambda: self._pump(lane)))

    def _pump(self, lane: Lane) -> None:
        self._pumps.pop(lane, None)
        room = CLOUD_WORKERS if lane is Lane.CLOUD else 1
        while self._busy[lane] < room and (row := self.service.outbox.take(lane)) is not None:
            self._busy[lane] += 1
            self._carry_out(lane, row)
        if self._busy[lane] < room:
            self._pump_later(lane)

    def _carry_out(self, lane: Lane, row: Outgoing) -> None:
        # The effect happens now, the answer comes later: meanwhile the world goes on.
        try:
            outcome = self.service.hands.carry_out(row)
        except (PortError, LeaseLostError):
            self._finish(lane, lambda: self._retry(lane, row))
            return
        answer_s = self._random.uniform(0.02, 2.0)
        self._clock.after(
            answer_s, lambda: self.guard(lambda: self._finish(lane, lambda: self._settle(lane, row, outcome)))
        )

    def _settle(self, lane: Lane, row: Outgoing, outcome: Outcome) -> None:
        try:
            self.service.worker(lane)._settle(row, outcome)
        except PortError:
            self._retry(lane, row)

    def _retry(self, lane: Lane, row: Outgoing) -> None:
        self.service.outbox.put([self.service.worker(lane)._later(row, backoff(row.attempts + 1))])

    def _finish(self, lane: Lane, step: Callable[[], None]) -> None:
        self._busy[lane] -= 1
        try:
            step()
        finally:
            self._pump_later(lane)
