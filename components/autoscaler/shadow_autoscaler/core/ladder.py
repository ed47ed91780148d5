"""The flavor ladder: spot first where it is allowed, then what costs more, in the declared order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.jobs import Job
from shadow_autoscaler.core.machines import Market, Vm
from shadow_autoscaler.core.matching import fits_branch
from shadow_autoscaler.core.pools import Deployment, Pool, Rung


@dataclass(frozen=True, slots=True)
class Step:
    """A rung and the zone in which it is tried."""

    index: int
    rung: Rung
    zone: str


def spot_refusal(job: Job, pool: Pool, deployment: Deployment) -> str:
    """Say why the job must not start on spot; empty when it may."""
    if job.on_demand_only:
        return "its spot VM was reclaimed before"
    if fits_branch(job.facts.ref, pool.policy.on_demand_branches):
        return f"branch {job.facts.ref} never starts on spot (policy.on_demand_branches)"
    seconds = deployment.job_seconds.get(f"{job.key.project}/{job.facts.name}")
    if pool.spot_up_to_s is not None and seconds is not None and seconds > pool.spot_up_to_s:
        return f"it is known to take {seconds / 60:.0f} min, more than spot_up_to"
    return ""


def on_demand_needed(job: Job, pool: Pool, deployment: Deployment) -> bool:
    """Whether the job must start on-demand; a pool that sells only spot gives that all the same."""
    has_on_demand = any(rung.market is Market.ON_DEMAND for rung in pool.ladder)
    return has_on_demand and bool(spot_refusal(job, pool, deployment))


def choose(draft: Draft, pool: Pool, job: Job | None) -> Step | None:
    """Return the first rung that the job may use and that is not on a cool-down."""
    no_spot = job is not None and on_demand_needed(job, pool, draft.deployment)
    turn = job.failures if job is not None else 0
    for index, rung in enumerate(pool.ladder):
        if no_spot and rung.market is Market.SPOT:
            continue
        zone = next(_zones(draft, pool.name, rung, turn), None)
        if zone is not None:
            return Step(index, rung, zone)
    return None


def is_open(draft: Draft, pool: Pool, rung: Rung) -> bool:
    """Whether the rung is not on a cool-down in all its zones."""
    return next(_zones(draft, pool.name, rung, 0), None) is not None


def _zones(draft: Draft, pool: str, rung: Rung, turn: int) -> Iterator[str]:
    cooldowns = draft.pool_state(pool).cooldowns
    if cooldowns.get(rung.flavor, 0.0) > draft.now:
        return
    zones = rung.zones or ("",)
    # Another zone after each failed boot: the host may be at fault.
    for step in range(len(zones)):
        zone = zones[(turn + step) % len(zones)]
        if not zone or cooldowns.get(f"{rung.flavor}@{zone}", 0.0) <= draft.now:
            yield zone


def cool_down(draft: Draft, vm: Vm) -> None:
    """No host had room for the VM: leave its flavor, in its zone where it has one, out in every pool."""
    for pool in draft.deployment.pools:
        rung = next((rung for rung in pool.ladder if rung.flavor == vm.flavor), None)
        if rung is not None:
            _cool(draft, pool, f"{vm.flavor}@{vm.zone}" if vm.zone in rung.zones else vm.flavor)


def _cool(draft: Draft, pool: Pool, what: str) -> None:
    state = draft.pool_state(pool.name)
    cooldowns = {key: until for key, until in state.cooldowns.items() if until > draft.now}
    cooldowns[what] = draft.now + pool.cooldown_s
    draft.put_pool(replace(state, cooldowns=cooldowns))
    draft.note(pool.name, f"{what} is left out for {pool.cooldown_s:.0f} s: no capacity")


def next_warm(draft: Draft, pool: Pool) -> float | None:
    """Return when the earliest cool-down ends; None when none is on."""
    cooldowns = draft.pool_state(pool.name).cooldowns.values()
    return min((until for until in cooldowns if until > draft.now), default=None)
