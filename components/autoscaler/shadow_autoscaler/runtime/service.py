"""The whole machine: engine, inbox, outbox workers, looks and lease, on threads of their own."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shadow_autoscaler.core.events import Drained, Event, Loaded, Resumed, Tick
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Vm
from shadow_autoscaler.ports import Cloud, Forge, Outgoing
from shadow_autoscaler.runtime.cloud_hands import CloudHands
from shadow_autoscaler.runtime.engine import DecideError, Engine
from shadow_autoscaler.runtime.forge_hands import ForgeHands
from shadow_autoscaler.runtime.handover import Handover
from shadow_autoscaler.runtime.hands import Hands
from shadow_autoscaler.runtime.inbox import Inbox, Translate
from shadow_autoscaler.runtime.lease import LEASE_S, Lease
from shadow_autoscaler.runtime.loops import Loop
from shadow_autoscaler.runtime.operators import translate as operator_events
from shadow_autoscaler.runtime.outbox import Lane, Outbox
from shadow_autoscaler.runtime.reads import Looks, Pace, Read
from shadow_autoscaler.runtime.resume import resume
from shadow_autoscaler.runtime.vm_events import Reports
from shadow_autoscaler.runtime.worker import Worker

_log = logging.getLogger(__name__)
CLOUD_WORKERS = 4
"""Calls to the cloud at the same time."""
INBOX_POLL_S = 1.0
"""How soon deliveries are found that another process wrote."""


@dataclass(frozen=True, slots=True)
class World:
    """The adapters, and what the runtime needs from them."""

    cloud: Cloud
    forges: Mapping[ForgeKind, Forge]
    translate: Mapping[ForgeKind, Translate]
    user_data: Callable[[Vm], str]
    keep_console: Callable[[str, str], None] = lambda _vm, _text: None
    pace: Pace = field(default_factory=Pace)


class Service:
    """Runs an engine. Without `start`, tests drive `turn` themselves."""

    def __init__(
        self,
        engine: Engine,
        world: World,
        owner: str,
        *,
        workers: int = CLOUD_WORKERS,
        lease_s: float = LEASE_S,
        resumes: bool = True,
    ) -> None:
        # Where a queue stands before the state, nothing that VMs say is lost between two calls.
        self._resumes = resumes
        self.engine, self.world = engine, world
        self.handover = Handover(engine.steady)
        self.hands = Hands(
            CloudHands(engine, world.cloud, world.user_data, world.keep_console),
            ForgeHands(engine, world.forges, self.handover),
        )
        self.outbox = Outbox(self.hands.lane, engine.now, engine.steady)
        engine.dispatch = self.outbox.put
        self.inbox = Inbox(engine, self._translators())
        self.lease = Lease(engine, owner, self._taken, self._lost, lease_s)
        self.reads = self._reads()
        self._stopping = threading.Event()
        self._tick_fault = ""
        self._inbox_loop = Loop("inbox", self._inbox_turn)
        self._read_loops = [Loop(read.name, read.step) for read in self.reads]
        self._worker_loops = [
            Loop(f"{lane}-{number}", self._worker_turn(self.worker(lane)))
            for lane in Lane
            for number in range(workers if lane is Lane.CLOUD else 1)
        ]
        self._loops = [
            Loop("lease", self.lease.step),
            Loop("tick", self._tick),
            self._inbox_loop,
            *self._read_loops,
            *self._worker_loops,
        ]

    def start(self) -> None:
        """Start every loop."""
        for loop in self._loops:
            loop.start()

    def stop(self, timeout_s: float = 20.0) -> bool:
        """End every loop after its step and give the lease back; False when a step takes longer."""
        self._stopping.set()
        for loop in self._loops:
            loop.stop()
        self.outbox.wake()
        ended = [loop.join(timeout_s) for loop in self._loops]
        if all(ended):
            self.lease.give_back()
        return all(ended)

    def dead_loops(self) -> list[str]:
        """Return the names of loops that have ended though nobody stopped them."""
        return [loop.name for loop in self._loops if loop.dead]

    @property
    def fault(self) -> str:
        """Why this process does not decide, or not as it should; empty when it does."""
        return self.lease.fault or self._tick_fault

    def wake_inbox(self) -> None:
        """Say that something was written to the inbox."""
        self._inbox_loop.wake()

    def look_now(self) -> None:
        """Look at everything now."""
        for loop in self._read_loops:
            loop.wake()

    def worker(self, lane: Lane) -> Worker:
        """Return a worker of a lane."""
        return Worker(self.engine, self.outbox, lane, self.hands.carry_out)

    def _taken(self, rows: Sequence[Outgoing]) -> None:
        if self._resumes:
            self.engine.handle(Resumed())
        self.engine.handle(Loaded(tuple(row.intent for row in rows)))
        self.outbox.put(resume(self.engine, rows))
        self.look_now()

    def _lost(self) -> None:
        self.outbox.clear()
        self.handover.clear()

    def _tick(self) -> float:
        if self.engine.active:
            try:
                self.engine.handle(Tick())
            except DecideError as error:
                self._tick_fault = f"the core fails on this state, so that nothing is done in time: {error}"
                raise
        self._tick_fault = ""
        return self.world.pace.tick

    def _inbox_turn(self) -> float:
        return 0.0 if self.inbox.step() else INBOX_POLL_S

    def _worker_turn(self, worker: Worker) -> Callable[[], float]:
        def turn() -> float:
            if not worker.step() and not self._stopping.is_set():
                self.outbox.wait(worker.lane, 1.0)
            return 0.0

        return turn

    def _translators(self) -> dict[str, Translate]:
        return {
            **{kind.value: translate for kind, translate in self.world.translate.items()},
            "vm": Reports(self.engine).events,
            "operator": self._operator,
        }

    def _operator(self, name: str, body: bytes) -> Sequence[Event]:
        events = operator_events(name, body)
        if not any(isinstance(event, Drained) for event in events):
            self.look_now()
        return events

    def _reads(self) -> list[Read]:
        looks = Looks(self.engine, self.world.cloud, self.world.forges, self.world.pace)
        reads = [
            Read(self.engine, self.outbox, Lane.CLOUD, "servers", looks.servers),
            Read(self.engine, self.outbox, Lane.CLOUD, "leftovers", looks.leftovers),
            Read(self.engine, self.outbox, Lane.CLOUD, "quota", looks.quota),
        ]
        for kind in self.world.forges:
            lane = Lane.of(kind)
            reads.append(Read(self.engine, self.outbox, lane, f"{kind}-jobs", _of(looks.jobs, kind)))
            reads.append(
                Read(self.engine, self.outbox, lane, f"{kind}-redelivery", _of(looks.redeliver, kind))
            )
        return reads


def _of(look: Callable[[ForgeKind], float], kind: ForgeKind) -> Callable[[], float]:
    return lambda: look(kind)
