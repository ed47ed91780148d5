"""What was spent: by job, by pool, today and in each month (UTC)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from shadow_autoscaler.core.jobs import JobKey
from shadow_autoscaler.core.ledger import Bill, bill_of, shares
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import State


@dataclass(frozen=True, slots=True)
class Accounts:
    """Sums over the VMs that the state knows, and over those that it has forgotten, by month."""

    today: Mapping[str, Bill]
    """By pool."""
    months: Mapping[tuple[str, str], Bill]
    """By month and pool."""
    jobs: Mapping[JobKey, Bill]
    """Jobs whose VMs are not forgotten; each bears its VM from create to end."""
    month: str
    """This month."""

    @classmethod
    def of(cls, state: State, deployment: Deployment, now: float) -> "Accounts":
        """Add up."""
        day = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
        today, jobs = dict[str, Bill](), dict[JobKey, Bill]()
        months = {(m, p.name): bill for p in state.pools.values() for m, bill in p.months.items()}
        for vm in state.vms.values():
            if vm.job is not None and vm.busy_at is not None:
                jobs[vm.job] = jobs.get(vm.job, Bill()) + bill_of(vm, deployment, now)
            for date, bill in shares(vm, deployment, now):
                if date == day:
                    today[vm.pool] = today.get(vm.pool, Bill()) + bill
                if vm.live:
                    place = date[:7], vm.pool
                    months[place] = months.get(place, Bill()) + bill
        return cls(today, months, jobs, day[:7])

    def this_month(self, pool: str) -> Bill:
        """Return a pool's bill of this month."""
        return self.months.get((self.month, pool), Bill())
