"""The core's only entrance: state, event, time and configuration in, a decision out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from shadow_autoscaler.core import (
    clocks,
    closing,
    creation,
    intake,
    mending,
    planning,
    reclaim,
    registration,
    rerun,
    servers,
    sweep,
    timeouts,
)
from shadow_autoscaler.core.breaker import reset
from shadow_autoscaler.core.closing import close
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.events import (
    ClockStepped,
    ConfigAsked,
    CreateFailed,
    CreateSent,
    DeleteFailed,
    Deregistered,
    DeregisterFailed,
    Drained,
    Event,
    JobMissing,
    JobSeen,
    JobsListed,
    LeftoverRemoved,
    LeftoversListed,
    Loaded,
    QuotaRead,
    ReclaimNoticed,
    Registered,
    RegisterFailed,
    RerunAnswered,
    Resumed,
    RunCompleted,
    RunnersListed,
    ServerCreated,
    ServerGone,
    ServersListed,
    Tick,
    VmReported,
)
from shadow_autoscaler.core.machines import Cause, Phase
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import Decision, PoolState, State


def decide(state: State, event: Event, now: float, deployment: Deployment) -> Decision:
    """Decide what an event changes and what is to be done; the state itself is not touched."""
    draft = Draft(state, now, deployment)
    if not isinstance(event, ClockStepped | Resumed):
        clocks.keep(draft)
    HANDLERS[type(event)](draft, event)
    planning.plan(draft)
    return draft.decision()


def _on_quota(draft: Draft, event: QuotaRead) -> None:
    known = draft.state.quota
    if known is None or event.quota.read_at > known.read_at or known.read_at > draft.now:
        draft.quota = event.quota


def _on_drained(draft: Draft, event: Drained) -> None:
    """An operator takes a pool or VM out of use, or says that a pool is good again."""
    vm = draft.vm(event.vm)
    if vm is not None and vm.phase < Phase.BUSY:
        close(draft, vm, Cause.DRAINED, "drained by an operator")
    if not event.pool:
        return
    if event.on:
        timeouts.drop_pool(draft, event.pool)
    else:
        _undrain(draft, event.pool)


def _undrain(draft: Draft, pool: str) -> None:
    reset(draft, pool)
    state = draft.pool_state(pool)
    draft.put_pool(PoolState(pool, cooldowns=state.cooldowns, months=state.months))
    for job in tuple(draft.unserved(pool)):
        if job.failures:
            draft.put_job(replace(job, failures=0, not_before=0.0))


def _on_resumed(draft: Draft, _event: Resumed) -> None:
    clocks.on_resumed(draft)


def _on_tick(draft: Draft, _event: Tick) -> None:
    timeouts.on_tick(draft)


HANDLERS: dict[type[Event], Callable[[Draft, Any], None]] = {
    JobSeen: intake.on_seen,
    JobMissing: intake.on_missing,
    JobsListed: intake.on_listed,
    RunCompleted: rerun.on_run_completed,
    RerunAnswered: rerun.on_answer,
    RunnersListed: sweep.on_runners,
    LeftoversListed: sweep.on_leftovers,
    LeftoverRemoved: sweep.on_leftover_removed,
    ServersListed: servers.on_listed,
    ServerCreated: servers.on_created,
    ServerGone: servers.on_gone,
    QuotaRead: _on_quota,
    CreateSent: creation.on_sent,
    CreateFailed: creation.on_failed,
    DeleteFailed: closing.on_delete_failed,
    VmReported: registration.on_report,
    ConfigAsked: registration.on_config_asked,
    Registered: registration.on_registered,
    RegisterFailed: registration.on_register_failed,
    Deregistered: registration.on_deregistered,
    DeregisterFailed: closing.on_deregister_failed,
    ReclaimNoticed: reclaim.on_notice,
    Drained: _on_drained,
    Resumed: _on_resumed,
    Loaded: mending.on_loaded,
    ClockStepped: clocks.on_stepped,
    Tick: _on_tick,
}
"""Who handles which event; all are listed, so that a new one without a handler fails at once."""
