"""What a VM costs, by day and month (UTC), and what the same work would have cost on-demand.

A VM is billed per minute begun, from the moment when the cloud took the create call until it is gone,
whatever its state: a stopped server costs as much as a running one. The comparison takes the same minutes at
the pool's on-demand price, without VMs lost to reclaims: their work would not have been done twice.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shadow_autoscaler.core.machines import Cause, Market, Vm
from shadow_autoscaler.core.pools import Deployment

MINUTE = 60.0
KEPT_MONTHS = 13


@dataclass(frozen=True, slots=True)
class Bill:
    """A sum over VMs."""

    vms: int = 0
    minutes: float = 0.0
    eur: float = 0.0
    on_demand_eur: float = 0.0
    """The same work on-demand."""
    lost_minutes: float = 0.0
    """Minutes of jobs that a reclaim threw away."""
    idle_minutes: float = 0.0
    """Minutes without a job: boot, warm time, failed VMs, removal."""

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(
            self.vms + other.vms,
            self.minutes + other.minutes,
            self.eur + other.eur,
            self.on_demand_eur + other.on_demand_eur,
            self.lost_minutes + other.lost_minutes,
            self.idle_minutes + other.idle_minutes,
        )

    @property
    def saved_eur(self) -> float:
        """What was saved; negative where spot came out dearer."""
        return self.on_demand_eur - self.eur


def shares(vm: Vm, deployment: Deployment, now: float) -> Iterable[tuple[str, Bill]]:
    """Yield the days on which a VM cost something, and each one's part of its bill."""
    minutes = billed_minutes(vm, now)
    if minutes:
        bill = bill_of(vm, deployment, now)
        for day, share in _days(vm.created_at or now, minutes):
            yield day, _share(bill, share)


def booked(months: Mapping[str, Bill], vm: Vm, deployment: Deployment, now: float) -> dict[str, Bill]:
    """Return a pool's months with the bill of a VM that is gone, which itself is forgotten some day."""
    sums = dict(months)
    for day, bill in shares(vm, deployment, now):
        sums[day[:7]] = sums.get(day[:7], Bill()) + bill
    return dict(sorted(sums.items())[-KEPT_MONTHS:])


def billed_minutes(vm: Vm, now: float) -> int:
    """Return the minutes billed for a VM so far; 0 for one that never had a server."""
    if vm.created_at is None:
        return 0
    end = now if vm.deleted_at is None else vm.deleted_at
    return max(1, math.ceil((end - vm.created_at) / MINUTE))


def bill_of(vm: Vm, deployment: Deployment, now: float) -> Bill:
    """Return one VM's bill."""
    minutes = billed_minutes(vm, now)
    if not minutes:
        return Bill()
    worked = _worked_minutes(vm, now)
    lost = worked if vm.cause is Cause.RECLAIMED else 0.0
    needed = 0.0 if vm.cause in {Cause.RECLAIMED, Cause.SPOT_CAPACITY} else float(minutes)
    return Bill(
        vms=1,
        minutes=minutes,
        eur=minutes * vm.eur_per_hour / 60.0,
        on_demand_eur=needed * _on_demand_price(vm, deployment) / 60.0,
        lost_minutes=lost,
        idle_minutes=max(0.0, minutes - worked),
    )


def _worked_minutes(vm: Vm, now: float) -> float:
    if vm.busy_at is None:
        return 0.0
    ends = [at for at in (vm.runner_ended_at, vm.ended_at, vm.deleted_at, now) if at is not None]
    return max(0.0, min(ends) - vm.busy_at) / MINUTE


def _on_demand_price(vm: Vm, deployment: Deployment) -> float:
    """Return the price of the next on-demand rung, or the VM's own where the pool has none."""
    pool = deployment.pool(vm.pool)
    if vm.market is Market.ON_DEMAND or pool is None:
        return vm.eur_per_hour
    rungs = [rung for rung in pool.ladder[vm.rung :] if rung.market is Market.ON_DEMAND]
    return rungs[0].eur_per_hour if rungs else vm.eur_per_hour


def _days(start: float, minutes: int) -> Iterable[tuple[str, float]]:
    begin = datetime.fromtimestamp(start, UTC)
    end = begin + timedelta(minutes=minutes)
    while begin < end:
        midnight = (begin + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        part = min(midnight, end) - begin
        yield f"{begin:%Y-%m-%d}", part / timedelta(minutes=minutes)
        begin = midnight


def _share(bill: Bill, share: float) -> Bill:
    return Bill(
        bill.vms,
        bill.minutes * share,
        bill.eur * share,
        bill.on_demand_eur * share,
        bill.lost_minutes * share,
        bill.idle_minutes * share,
    )
