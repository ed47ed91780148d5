"""Minutes and EUR, by hand-made VMs whose bills are easy to check."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from unit.autoscaler.core.samples import ON_DEMAND, P1, SPOT

from shadow_autoscaler.core.jobs import ForgeKind, JobKey
from shadow_autoscaler.core.ledger import bill_of, billed_minutes, ledger
from shadow_autoscaler.core.machines import Cause, Market, Phase, Vm
from shadow_autoscaler.core.pools import Deployment

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


def test_sums_by_job_pool_and_day() -> None:
    late = datetime(2026, 11, 30, 23, 30, tzinfo=UTC).timestamp()
    night = replace(VM, name="b", job=None, created_at=late, busy_at=None, deleted_at=late + 3600)
    book = ledger([VM, night, replace(VM, name="c", created_at=None)], DEPLOYMENT, late + 7200)
    assert book.total.vms == 2
    assert book.total.eur == pytest.approx(0.6)
    assert book.by_job == {KEY: bill_of(VM, DEPLOYMENT, T + 7200)}
    assert book.by_pool["p1"].minutes == 120
    assert book.by_day["2026-11-30"].minutes == pytest.approx(90)
    assert book.by_day["2026-12-01"].minutes == pytest.approx(30)


def test_a_vm_of_a_removed_pool_is_billed_at_its_own_price() -> None:
    bill = bill_of(replace(VM, pool="old"), DEPLOYMENT, T)
    assert bill.eur == bill.on_demand_eur
