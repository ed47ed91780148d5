"""A store in memory. What it holds lives in `StoredData`, so that a new process can open it again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shadow_autoscaler.core.state import Counters, State
from shadow_autoscaler.ports import AuditLine, Commit, Delivery, LeaseLostError, Outgoing
from shadow_autoscaler.testing.faults import FaultPlan


@dataclass(slots=True)
class StoredData:
    """The durable part."""

    state: State = field(default_factory=lambda: State(counters=Counters(generation="fake")))
    inbox: dict[str, Delivery] = field(default_factory=dict[str, Delivery])
    closed: dict[str, str] = field(default_factory=dict[str, str])
    """Handled and rejected deliveries, with the reason of the latter."""
    outbox: dict[int, Outgoing] = field(default_factory=dict[int, Outgoing])
    audit: list[AuditLine] = field(default_factory=list[AuditLine])
    numbers: int = 0
    owner: str = ""
    fence: int = 0
    taken_at: float = 0.0
    seconds: float = 0.0


class FakeStore:
    """A `Store` whose calls are atomic; every object opened on the same data is another process."""

    def __init__(self, data: StoredData | None = None, faults: FaultPlan | None = None) -> None:
        self.data = data or StoredData()
        self._faults = faults or FaultPlan()
        self._fence: int | None = None

    def accept(self, deliveries: Sequence[Delivery]) -> Sequence[bool]:
        """Write deliveries to the inbox."""
        with self._faults.call("store.accept"):
            for delivery in deliveries:
                if delivery.delivery_id not in self.data.closed:
                    self.data.inbox.setdefault(delivery.delivery_id, delivery)
            return [delivery.delivery_id in self.data.inbox for delivery in deliveries]

    def inbox(self, limit: int = 100) -> Sequence[Delivery]:
        """Return unhandled deliveries, oldest first."""
        with self._faults.call("store.inbox", writes=False):
            return list(self.data.inbox.values())[:limit]

    def reject(self, delivery_id: str, reason: str) -> None:
        """Set a delivery aside."""
        with self._faults.call("store.reject"):
            if self.data.inbox.pop(delivery_id, None):
                self.data.closed[delivery_id] = reason

    def load(self) -> State:
        """Return a copy of the whole state."""
        with self._faults.call("store.load", writes=False):
            state = self.data.state
            return State(
                jobs=dict(state.jobs),
                vms=dict(state.vms),
                pools=dict(state.pools),
                suspects=dict(state.suspects),
                alarms=dict(state.alarms),
                quota=state.quota,
                counters=state.counters,
            )

    def commit(self, commit: Commit) -> Sequence[Outgoing]:
        """Write a transaction."""
        with self._faults.call("store.commit"):
            if not self.data.owner or self.data.fence != self._fence:
                raise LeaseLostError("the lease is not held; nothing was written")
            return self._write(commit)

    def outbox(self) -> Sequence[Outgoing]:
        """Return every unfinished intent, oldest first."""
        with self._faults.call("store.outbox", writes=False):
            return list(self.data.outbox.values())

    def lease(self, owner: str, seconds: float, now: float) -> bool:
        """Take, renew or (no owner) give back the lease."""
        data = self.data
        with self._faults.call("store.lease"):
            mine = bool(data.owner) and data.fence == self._fence
            if not owner:
                self._fence, data.owner = None, "" if mine else data.owner
                return True
            until, since = data.taken_at + data.seconds, data.taken_at - data.seconds
            if not (mine or data.owner in {"", owner} or now >= until or now < since):
                self._fence = None
                return False
            data.fence += 0 if mine and data.owner == owner else 1
            self._fence, data.owner, data.taken_at, data.seconds = data.fence, owner, now, seconds
            return True

    def audit(self, subject: str = "", limit: int = 100) -> Sequence[AuditLine]:
        """Return the newest lines, newest first."""
        with self._faults.call("store.audit", writes=False):
            lines = (line for line in reversed(self.data.audit) if subject in {"", line.subject})
            return [line for line, _ in zip(lines, range(limit), strict=False)]

    def _write(self, commit: Commit) -> Sequence[Outgoing]:
        data, decision = self.data, commit.decision
        data.state.apply(decision)
        if data.inbox.pop(commit.delivery_id, None):
            data.closed[commit.delivery_id] = ""
        for number in commit.finished:
            data.outbox.pop(number, None)
        for number, due_at in commit.postponed.items():
            if row := data.outbox.get(number):
                data.outbox[number] = replace(row, due_at=due_at, attempts=row.attempts + 1)
        data.audit += [AuditLine(commit.at, note.subject, note.text) for note in decision.notes]
        added = [
            Outgoing(data.numbers + n, intent, commit.at) for n, intent in enumerate(decision.intents, 1)
        ]
        data.numbers += len(added)
        data.outbox.update({row.number: row for row in added})
        return added
