"""Time that did not pass, and time that nobody saw pass.

- The clock was set while the process ran. The runtime sees it by a clock that nobody sets and says so
  (`ClockStepped`): every time that still counts moves along.
- Nobody decided for a while: a restart, another machine, one that slept. `Counters.seen_at` tells since when.
  What VMs have to do in time begins anew, and whatever needs two looks is looked at twice anew.
- The clock is behind what was written last: it was set back by at least that much, and times move along.

A job's deadline is counted in `Counters.seen_s`, seconds in which somebody decided: no clock can change it.
History (VMs that are gone, the audit trail) stays as it was written, and nothing is forgotten soon after a
jump: the clock may be wrong now and right again in an hour.
"""

from dataclasses import fields, replace
from typing import Any, TypeVar

from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import ClockStepped

HEARTBEAT_S = 60.0
"""How exactly it is known when somebody last decided."""
UNSEEN_S = 180.0
"""From this on a time without a decision is one in which nobody decided, whoever comes then."""
SURE_S = 6 * 3600.0
"""How long after a jump nothing is forgotten for its age."""
VM_TIMES = (
    "planned_at",
    "sent_at",
    "created_at",
    "active_at",
    "healthy_at",
    "ready_at",
    "busy_at",
    "ended_at",
    "reclaim_at",
    "asked_at",
    "runner_ended_at",
    "retry_at",
)
JOB_TIMES = ("seen_at", "not_before", "checked_at", "confirmed_at", "ended_at")
POOL_TIMES = ("paused_until", "held_until")
_Row = TypeVar("_Row")


def on_stepped(draft: Draft, event: ClockStepped) -> None:
    """The clock was set: what had lasted for ten minutes has lasted for ten minutes still."""
    draft.note("clock", f"the clock was set by {event.by:+.0f} s; running times move along")
    _restate(draft, event.by)


def on_resumed(draft: Draft) -> None:
    """Somebody decides again: make up for the time since the last one did."""
    seen_at = draft.known_counters.seen_at
    away = draft.now - seen_at if seen_at else 0.0
    if away < 0:
        draft.note("clock", f"the clock is {-away:.0f} s behind what was written last")
        _restate(draft, away)
    elif away > UNSEEN_S:
        _unsure(draft)
    _look_anew(draft)
    counters = draft.known_counters
    seen_s = counters.seen_s + min(max(0.0, away), HEARTBEAT_S)
    draft.counters = replace(counters, resumed_at=draft.now, seen_at=draft.now, seen_s=seen_s)


def keep(draft: Draft) -> None:
    """Before each event: write down now and then that somebody decides, or find that nobody did."""
    counters = draft.state.counters
    passed = draft.now - counters.seen_at
    if not counters.seen_at:
        draft.counters = replace(counters, seen_at=draft.now)
    elif abs(passed) > UNSEEN_S:
        on_resumed(draft)
    elif not 0.0 <= passed < HEARTBEAT_S:
        draft.counters = replace(counters, seen_at=draft.now, seen_s=draft.seen_s)
        draft.prunes = sure(draft)


def sure(draft: Draft) -> bool:
    """Whether the clock has not jumped for long, so that what is old by it may be forgotten."""
    return draft.seen_s - draft.known_counters.jumped_s >= SURE_S


def heard_since(draft: Draft, since: float) -> float:
    """Return when a VM's time began: a process that was away has no right to call it late."""
    return max(since, draft.known_counters.resumed_at)


def _unsure(draft: Draft) -> None:
    counters = draft.known_counters
    draft.counters = replace(counters, jumped_s=counters.seen_s)


def _look_anew(draft: Draft) -> None:
    """A look of the time before is no look: what it saw may have changed since."""
    for what, suspect in draft.state.suspects.items():
        if what.startswith("listed:"):
            draft.suspects[what] = None
        elif not what.startswith(("orphan:", "over:")):
            draft.suspects[what] = replace(suspect, since=draft.now)


def _restate(draft: Draft, by: float) -> None:
    for vm in tuple(draft.all_live()):
        draft.put_vm(_moved(vm, VM_TIMES, by))
    for job in draft.state.jobs.values():  # tombstones, too: they absorb deliveries that come late
        draft.put_job(_moved(job, JOB_TIMES, by))
    for pool in draft.state.pools.values():
        cooldowns = {key: until + by for key, until in pool.cooldowns.items()}
        draft.put_pool(replace(_moved(pool, POOL_TIMES, by), cooldowns=cooldowns))
    for what, suspect in draft.state.suspects.items():
        draft.suspects[what] = replace(suspect, since=suspect.since + by)
    for subject, since in draft.state.alarms.items():
        draft.alarms[subject] = since + by
    if draft.state.quota is not None:
        draft.quota = replace(draft.state.quota, read_at=draft.state.quota.read_at + by)
    draft.counters = _moved(draft.known_counters, ("resumed_at", "seen_at"), by)
    if abs(by) > UNSEEN_S:
        _unsure(draft)


def _moved(row: _Row, names: tuple[str, ...], by: float) -> _Row:
    """Move every time that is set: one with its field's default says `not yet`."""
    unset: dict[str, Any] = {one.name: one.default for one in fields(row)}  # type: ignore[arg-type]
    held: dict[str, Any] = {name: getattr(row, name) for name in names}
    changes = {name: at + by for name, at in held.items() if at != unset[name]}
    return replace(row, **changes)  # type: ignore[type-var]
