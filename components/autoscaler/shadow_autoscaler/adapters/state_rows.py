"""Rows of either store back into the state; those that cannot be read are told all at once, or left out.

Left out is what only spares a second look or repeats an alarm: it is found again. Without any other row the
core would decide on half the facts, so nothing is decided until somebody has seen to it.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from shadow_autoscaler.adapters.codec import decode, decode_intent
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.jobs import Job
from shadow_autoscaler.core.machines import Vm
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import Counters, PoolState, State, Suspect
from shadow_autoscaler.ports import Outgoing

_log = logging.getLogger(__name__)
HINTS = frozenset({"suspect", "alarm", "quota"})
OUTBOX = "intent"
"""Kind of the outbox's rows."""
_TOLD = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is stored."""

    kind: str
    """`job`, `vm`, `pool`, `suspect`, `alarm`, `quota`, `counters`; `intent` for one of the outbox."""
    key: str
    body: str | bytes = field(repr=False)
    name: str = ""
    """An intent's name."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row that this version cannot read, and why."""

    row: Row
    reason: str

    def __str__(self) -> str:
        where = f"{self.row.kind} {self.row.key}".rstrip()
        return f"{where}: {self.reason}"


@runtime_checkable
class Mendable(Protocol):
    """A store whose unreadable rows can be set aside."""

    def damaged(self) -> Sequence[Damaged]:
        """Return every row that cannot be read."""
        ...

    def set_aside(self, damaged: Sequence[Damaged]) -> None:
        """Take rows out, unless they have changed since."""
        ...


def read(rows: Iterable[Row], place: str) -> State:
    """Return the state; `PortError` (CONFIG) where a row that counts cannot be read."""
    state, damaged = State(), list[Damaged]()
    for row in rows:
        try:
            _put(state, row)
        except (PortError, ValueError, TypeError) as error:
            damaged.append(Damaged(row, _reason(error)))
    serious = [one for one in damaged if one.row.kind not in HINTS]
    if serious:
        raise unreadable(place, serious)
    for one in damaged:
        _log.warning("row left out, it is found again: %s: %s", place, one)
    return state


def find(rows: Iterable[Row]) -> list[Damaged]:
    """Return the rows that cannot be read."""
    found = list[Damaged]()
    for row in rows:
        try:
            decode_intent(row.name, row.body) if row.kind == OUTBOX else _put(State(), row)
        except (PortError, ValueError, TypeError) as error:
            found.append(Damaged(row, _reason(error)))
    return found


def unreadable(place: str, damaged: Sequence[Damaged]) -> PortError:
    """Return the one error that tells of all of them, and what to do."""
    more = f"; and {len(damaged) - _TOLD} more" if len(damaged) > _TOLD else ""
    told = "; ".join(str(one) for one in damaged[:_TOLD])
    remedy = (
        "nothing is decided meanwhile; run the version that wrote it, or have it set aside by "
        "`shadow-autoscaler repair` (`--dry-run` shows it first): jobs, VMs and intents are found again from "
        "the cloud, the forges and the other rows; a pool's drain and what it has cost are not"
    )
    text = f"store {place}: {len(damaged)} row(s) cannot be read: {told}{more}; {remedy}"
    return PortError(Failure(FailureKind.CONFIG, text))


def outgoing(rows: Iterable[tuple[Row, float, int]], place: str) -> list[Outgoing]:
    """Return the outbox; `PortError` (CONFIG) where an intent cannot be read."""
    good, damaged = list[Outgoing](), list[Damaged]()
    for row, due_at, attempts in rows:
        try:
            good.append(Outgoing(int(row.key), decode_intent(row.name, row.body), due_at, attempts))
        except (PortError, ValueError, TypeError) as error:
            damaged.append(Damaged(row, _reason(error)))
    if damaged:
        raise unreadable(place, damaged)
    return good


def _reason(error: Exception) -> str:
    text = error.failure.text if isinstance(error, PortError) else str(error)
    return text.removesuffix("; run the version that wrote it")


def _put(state: State, row: Row) -> None:
    match row.kind:
        case "job":
            job = decode(Job, row.body)
            state.jobs[job.key] = job
        case "vm":
            state.vms[row.key] = decode(Vm, row.body)
        case "pool":
            state.pools[row.key] = decode(PoolState, row.body)
        case "suspect":
            state.suspects[row.key] = decode(Suspect, row.body)
        case "alarm":
            state.alarms[row.key] = float(row.body)
        case "quota":
            state.quota = decode(Quota, row.body)
        case "counters":
            state.counters = _counters(row)
        case _:
            raise ValueError(f"rows of kind {row.kind!r} are not known to this version")


def _counters(row: Row) -> Counters:
    counters = decode(Counters, row.body)
    if not counters.generation:
        raise ValueError("no generation: names of VMs could be used twice")
    return counters
