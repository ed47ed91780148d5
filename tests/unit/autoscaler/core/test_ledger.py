"""Minutes and EUR, by hand-made VMs whose bills are easy to check."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from unit.autoscaler.core.samples import ON_DEMAND, P1, SPOT
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core.accounts import Accounts
from shadow_autoscaler.core.jobs import ForgeKind, JobKey
from shadow_autoscaler.core.ledger import KEPT_MONTHS, Bill, bill_of, billed_minutes, booked
from shadow_autoscaler.core.machines import Cause, Market, Phase, Vm
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import PoolState, State

T = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp()
KEY = JobKey(ForgeKind.GITHUB, "acme/app", 1)
POOL = replace(P1, ladder=(replace(SPOT, eur_per_hour=0.3), replace(ON_DEMAND, eur_per_hour=0.6)))
DEPLOYMENT = Deployment("d", (POOL,))
VM = Vm(
    "gpu-p1-g00001",
    "p1",
    0,
    SPOT.flavor,
    Market.SPOT,
    Phase.GONE,
    T,
    KEY,
    created_at=T,
    busy_at=T + 300,
    ended_at=T + 3300,
    deleted_at=T + 3600,
    cause=Cause.JOB_DONE,
    eur_per_hour=0.3,
)


@pytest.mark.parametrize(
    ("changes", "minutes"),
    [
        ({}, 60),
        ({"deleted_at": T + 3601}, 61),
        ({"deleted_at": T + 1}, 1),
        ({"deleted_at": None}, 120),
        ({"created_at": None}, 0),
    ],
)
def test_minutes_are_billed_from_create_to_gone(changes: dict[str, float | None], minutes: int) -> None:
    assert billed_minutes(replace(VM, **changes), T + 7200) == minutes  # type: ignore[arg-type]


def test_a_spot_vm_is_compared_with_the_pools_on_demand_price() -> None:
    bill = bill_of(VM, DEPLOYMENT, T + 7200)
    assert (bill.minutes, bill.eur, bill.on_demand_eur) == (60, pytest.approx(0.3), pytest.approx(0.6))
    assert (bill.lost_minutes, bill.idle_minutes) == (0, pytest.approx(10))
    assert bill.saved_eur == pytest.approx(0.3)


def test_work_lost_to_a_reclaim_costs_and_saves_nothing() -> None:
    bill = bill_of(replace(VM, cause=Cause.RECLAIMED), DEPLOYMENT, T + 7200)
    assert bill.lost_minutes == pytest.approx(50)
    assert bill.on_demand_eur == 0
    assert bill.saved_eur == pytest.approx(-0.3)


def test_on_demand_saves_nothing() -> None:
    vm = replace(VM, rung=1, market=Market.ON_DEMAND, eur_per_hour=0.6)
    assert bill_of(vm, DEPLOYMENT, T).saved_eur == 0


def test_sums_by_job_pool_day_and_month() -> None:
    late = datetime(2026, 11, 30, 23, 30, tzinfo=UTC).timestamp()
    night = replace(VM, name="b", job=None, created_at=late, busy_at=None, deleted_at=late + 3600)
    state = State(vms={vm.name: vm for vm in (VM, night, replace(VM, name="c", created_at=None))})
    for vm in (VM, night):
        pool = state.pools.get("p1", PoolState("p1"))
        state.pools["p1"] = replace(pool, months=booked(pool.months, vm, DEPLOYMENT, late + 3600))
    book = Accounts.of(state, DEPLOYMENT, late + 7200)
    assert book.jobs == {KEY: bill_of(VM, DEPLOYMENT, T + 7200)}
    assert book.today["p1"].minutes == pytest.approx(30)
    assert book.month == "2026-12"
    assert book.this_month("p1").minutes == pytest.approx(30)
    assert book.months["2026-11", "p1"].minutes == pytest.approx(90)
    assert book.months["2026-11", "p1"].eur == pytest.approx(0.45)
    assert book.this_month("other").eur == 0


def test_a_vm_that_is_up_is_in_the_months_and_one_that_is_gone_is_not_in_them_twice() -> None:
    up = replace(VM, phase=Phase.BUSY, deleted_at=None)
    state = State(vms={up.name: up})
    assert Accounts.of(state, DEPLOYMENT, T + 3600).this_month("p1").eur == pytest.approx(0.3)
    state = State(
        vms={VM.name: VM}, pools={"p1": PoolState("p1", months=booked({}, VM, DEPLOYMENT, T + 3600))}
    )
    assert Accounts.of(state, DEPLOYMENT, T + 9999).this_month("p1").eur == pytest.approx(0.3)


def test_a_year_of_months_is_kept() -> None:
    months = {f"2025-{number:02}": Bill(1) for number in range(1, 13)} | {"2026-01": Bill(1)}
    kept = booked(months, VM, DEPLOYMENT, T)
    assert next(iter(kept)) == "2025-02"
    assert list(kept)[-1] == "2026-11"
    assert len(kept) == KEPT_MONTHS


def test_what_a_vm_cost_is_booked_when_it_is_gone() -> None:
    world = World()
    key = world.queued()
    vm = world.serve(key)
    world.wait(600.0)
    world.finish(key)
    world.tell(key)
    world.run()
    (bill,) = world.state.pools[vm.pool].months.values()
    assert (bill.vms, bill.minutes) == (1, 10)
    world.handle(ev.Drained(vm.pool, on=False))
    assert list(world.state.pools[vm.pool].months.values()) == [bill]


def test_a_vm_of_a_removed_pool_is_billed_at_its_own_price() -> None:
    bill = bill_of(replace(VM, pool="old"), DEPLOYMENT, T)
    assert bill.eur == bill.on_demand_eur
