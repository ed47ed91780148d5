"""Time that did not pass, and time that nobody saw pass.

- The clock was set while the process ran, or the process was suspended. The runtime sees it by a clock that
  nobody sets and says so (`ClockStepped`): every time that still counts moves along.
- Nobody decided for a while: a restart, another machine. `Counters.seen_at` tells since when. Busy VMs do not
  pay for it: their deadline leaves that time out. Whatever needs two looks is looked at twice anew.
- The clock is behind what was written last: what lies ahead of it moves back.

Without this, a clock that jumps by a day would end every job, and one that jumps back would stop all retries.
History (VMs that are gone, the audit trail) stays as it was written.
"""

from dataclasses import replace
from typing import Any, TypeVar

from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import ClockStepped
from shadow_autoscaler.core.machines import Vm

HEARTBEAT_S = 60.0
"""How exactly it is known when somebody last decided."""
VM_TIMES = (
    "planned_at",
    "sent_at",
    "created_at",
    "active_at",
    "healthy_at",
    "ready_at",
    "busy_at",
    "ended_at",
    "asked_at",
    "runner_ended_at",
    "retry_at",
)
"""What our own clock wrote on a VM; `reclaim_at` comes from the VM's."""
JOB_TIMES = ("seen_at", "not_before", "checked_at", "confirmed_at", "ended_at")
POOL_TIMES = ("paused_until", "held_until")
_Row = TypeVar("_Row")


def on_stepped(draft: Draft, event: ClockStepped) -> None:
    """The clock was set: what had lasted for ten minutes has lasted for ten minutes still."""
    draft.note("clock", f"the clock was set by {event.by:+.0f} s; running times move along")
    _restate(draft, event.by, after=0.0)


def on_resumed(draft: Draft) -> None:
    """Somebody decides again: make up for the time since the last one did."""
    counters = draft.counters or draft.state.counters
    away = draft.now - counters.seen_at if counters.seen_at else 0.0
    if away < 0:
        draft.note("clock", f"the clock is {-away:.0f} s behind what was written last")
        _restate(draft, away, after=draft.now)
    for vm in tuple(draft.all_live()):
        _leave_out(draft, vm, counters.seen_at)
    _look_anew(draft)
    counters = draft.counters or draft.state.counters
    draft.counters = replace(counters, resumed_at=draft.now, seen_at=draft.now)


def keep(draft: Draft) -> None:
    """Write down now and then that somebody decides."""
    counters = draft.counters or draft.state.counters
    if not 0.0 <= draft.now - counters.seen_at < HEARTBEAT_S:
        draft.counters = replace(counters, seen_at=draft.now)


def _leave_out(draft: Draft, vm: Vm, seen_at: float) -> None:
    """A job's deadline counts the time in which it could have been seen to end."""
    if vm.busy_at is not None and seen_at:
        unseen = max(0.0, draft.now - max(seen_at, vm.busy_at))
        draft.put_vm(replace(vm, unseen_s=vm.unseen_s + unseen))


def _look_anew(draft: Draft) -> None:
    """A look of the time before is no look: what it saw may have changed since."""
    for what, suspect in draft.state.suspects.items():
        if what.startswith("listed:"):
            draft.suspects[what] = None
        elif not what.startswith(("orphan:", "over:")):
            draft.suspects[what] = replace(suspect, since=draft.now)


def _restate(draft: Draft, by: float, after: float) -> None:
    """Move times that lie beyond `after`; 0 moves all, and never one that says `not yet` by being 0."""
    for vm in tuple(draft.all_live()):
        draft.put_vm(_moved(vm, VM_TIMES, by, after))
    for job in draft.state.jobs.values():  # tombstones, too: they absorb deliveries that come late
        draft.put_job(_moved(job, JOB_TIMES, by, after))
    for pool in draft.state.pools.values():
        cooldowns = {key: _at(until, by, after) for key, until in pool.cooldowns.items()}
        draft.put_pool(replace(_moved(pool, POOL_TIMES, by, after), cooldowns=cooldowns))
    for what, suspect in draft.state.suspects.items():
        draft.suspects[what] = _moved(suspect, ("since",), by, after)
    for subject, since in draft.state.alarms.items():
        draft.alarms[subject] = _at(since, by, after)
    if draft.state.quota is not None:
        draft.quota = _moved(draft.state.quota, ("read_at",), by, after)
    counters = draft.counters or draft.state.counters
    draft.counters = _moved(counters, ("resumed_at", "seen_at"), by, after)


def _moved(row: _Row, names: tuple[str, ...], by: float, after: float) -> _Row:
    held: dict[str, Any] = {name: getattr(row, name) for name in names}
    changes = {name: _at(at, by, after) for name, at in held.items() if at}
    return replace(row, **changes)  # type: ignore[type-var]


def _at(at: float, by: float, after: float) -> float:
    return at + by if at > after else at
