"""The facts of a moment, as plain values."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from shadow_autoscaler.core.accounts import Accounts
from shadow_autoscaler.core.blockers import pool_block
from shadow_autoscaler.core.draft import Draft
from shadow_autoscaler.core.jobs import Job, JobStatus, Reclaim
from shadow_autoscaler.core.ledger import Bill, bill_of
from shadow_autoscaler.core.machines import Market, Phase, Vm
from shadow_autoscaler.core.pools import Deployment, Pool
from shadow_autoscaler.core.state import State
from shadow_autoscaler.core.why import why
from shadow_autoscaler.ports import AuditLine

ON_ITS_WAY = "a VM is on its way"
_HEAD = re.compile(r"^Job .*? UTC: ")
STEPS = ("planned", "sent", "created", "active", "healthy", "ready", "busy", "ended", "deleted")
"""What a VM goes through, in order; the names of `Vm`'s times."""
JOBS, VMS, RECENT = 200, 300, 30
"""Rows shown at most: jobs not done, live VMs, and each of the ended ones."""


@dataclass(frozen=True, slots=True)
class RungFacts:
    """One flavor of a pool."""

    flavor: str
    market: str
    eur_per_hour: float
    closed_until: float | None
    """End of its cool-down."""
    live: int


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """One pool."""

    name: str
    forge: str
    labels: Sequence[str]
    max: int
    live: int
    phases: Mapping[str, int]
    waiting: int
    blocked: str
    ladder: Sequence[RungFacts]
    eur_today: float
    saved_today: float
    eur_month: float
    saved_month: float


@dataclass(frozen=True, slots=True)
class JobFactsShown:
    """One job."""

    key: str
    name: str
    project: str
    url: str
    forge: str
    labels: Sequence[str]
    pool: str
    vm: str
    status: str
    queued_at: float
    started_at: float | None
    finished_at: float | None
    conclusion: str
    reclaims: int
    eur: float
    """What its VMs cost, as long as they are remembered."""
    why: str
    """Why it waits, in one paragraph; empty for others."""

    @property
    def reason(self) -> str:
        """The part of it that other jobs may share; a job with a VM of its own waits for that alone."""
        if self.why and self.vm:
            return ON_ITS_WAY
        return _HEAD.sub("", self.why)


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that wait for the same thing."""

    reason: str
    jobs: Sequence[JobFactsShown]


@dataclass(frozen=True, slots=True)
class VmFacts:
    """One VM."""

    name: str
    pool: str
    market: str
    flavor: str
    zone: str
    phase: str
    step: int
    since: float
    ended_at: float | None
    eur: float
    job: str
    cause: str
    detail: str
    reclaim_at: float | None
    times: Mapping[str, float]
    """When each step was reached that was: sent, created, active, healthy, ready, busy, ended, deleted."""


@dataclass(frozen=True, slots=True)
class MonthFacts:
    """One pool in one month."""

    month: str
    """Such as 2026-11; UTC."""
    pool: str
    vms: int
    """VMs; one that lived over the end of a month is in both."""
    minutes: float
    lost_minutes: float
    """Work that reclaims threw away."""
    eur: float
    saved: float
    """Against the same work on-demand; negative where spot came out dearer."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over everything."""

    waiting: int
    longest_wait_s: float
    running: int
    vms: int
    max_vms: int
    spot: int
    eur_today: float
    saved_today: float
    eur_month: float
    saved_month: float
    eur_per_hour: float


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything."""

    deployment: str
    at: float
    role: str
    totals: Totals
    alarms: Sequence[Mapping[str, object]]
    pools: Sequence[PoolFacts]
    jobs: Sequence[JobFactsShown]
    vms: Sequence[VmFacts]
    months: Sequence[MonthFacts]
    activity: Sequence[AuditLine] = field(default_factory=list[AuditLine])

    def groups(self) -> Sequence["Group"]:
        """Return the jobs that are not done: waiting ones by what they wait for, then those that run."""
        found: dict[str, list[JobFactsShown]] = {}
        for job in self.jobs:
            if job.status != "done":
                found.setdefault(job.reason, []).append(job)
        running = found.pop("", [])
        groups = [Group(reason, jobs) for reason, jobs in found.items()]
        return [*groups, Group("", running)] if running else groups

    def plain(self) -> dict[str, object]:
        """Return the facts as JSON has them."""
        return asdict(self)


def gather(
    state: State, deployment: Deployment, now: float, audit: Sequence[AuditLine] = (), role: str = "decides"
) -> Facts:
    """Return the facts of a state."""
    accounts = Accounts.of(state, deployment, now)
    return Facts(
        deployment=deployment.deployment_id,
        at=now,
        role=role,
        totals=_totals(state, deployment, now, accounts),
        alarms=list(_alarms(state, audit)),
        pools=[_pool(state, pool, deployment, now, accounts) for pool in deployment.pools],
        jobs=list(_jobs(state, deployment, now, accounts)),
        vms=list(_vms(state, deployment, now)),
        months=list(_months(accounts)),
        activity=list(audit),
    )


def job_facts(
    state: State, job: Job, deployment: Deployment, now: float, accounts: Accounts
) -> JobFactsShown:
    """Return the facts of one job."""
    facts = job.facts
    waits = job.status is not JobStatus.RUNNING
    waits = waits and (job.status is not JobStatus.DONE or job.reclaim is Reclaim.WAITS_FOR_RUN)
    return JobFactsShown(
        key=str(job.key),
        name=facts.name,
        project=facts.key.project,
        url=facts.url if facts.url.startswith(("https://", "http://")) else "",
        forge=facts.key.forge.value,
        labels=facts.labels,
        pool=job.pool,
        vm=job.vm,
        status=job.status.name.lower(),
        queued_at=facts.queued_at,
        started_at=facts.started_at,
        finished_at=facts.finished_at or job.ended_at,
        conclusion=facts.conclusion,
        reclaims=job.reclaims,
        eur=accounts.jobs.get(job.key, Bill()).eur,
        why=why(state, job.key, now, deployment) if waits else "",
    )


def _vm_facts(vm: Vm, deployment: Deployment, now: float) -> VmFacts:
    """Return the facts of one VM."""
    return VmFacts(
        name=vm.name,
        pool=vm.pool,
        market=vm.market.value,
        flavor=vm.flavor,
        zone=vm.zone,
        phase=vm.phase.name.lower(),
        step=int(vm.phase),
        since=vm.created_at or vm.planned_at,
        ended_at=vm.deleted_at,
        eur=bill_of(vm, deployment, now).eur,
        job=str(vm.job) if vm.job else "",
        cause=vm.cause.value,
        detail=vm.detail,
        reclaim_at=vm.reclaim_at,
        times={step: at for step in STEPS if (at := getattr(vm, f"{step}_at")) is not None},
    )


def _totals(state: State, deployment: Deployment, now: float, accounts: Accounts) -> Totals:
    waiting = [job for job in state.jobs.values() if job.status is JobStatus.QUEUED and job.pool]
    live = [vm for vm in state.vms.values() if vm.live]
    today = sum(accounts.today.values(), Bill())
    month = sum((bill for (month, _), bill in accounts.months.items() if month == accounts.month), Bill())
    return Totals(
        waiting=len(waiting),
        longest_wait_s=max((now - job.facts.queued_at for job in waiting), default=0.0),
        running=sum(job.status is JobStatus.RUNNING for job in state.jobs.values()),
        vms=len(live),
        max_vms=deployment.max_vms or sum(pool.max for pool in deployment.pools),
        spot=sum(vm.market is Market.SPOT for vm in live),
        eur_today=today.eur,
        saved_today=today.saved_eur,
        eur_month=month.eur,
        saved_month=month.saved_eur,
        eur_per_hour=sum(vm.eur_per_hour for vm in live if vm.created_at is not None),
    )


def _months(accounts: Accounts) -> Iterator[MonthFacts]:
    """Yield every month and pool, the newest month first."""
    ordered = sorted(accounts.months.items(), key=lambda item: item[0][1])
    ordered.sort(key=lambda item: item[0][0], reverse=True)
    for (month, pool), bill in ordered:
        yield MonthFacts(month, pool, bill.vms, bill.minutes, bill.lost_minutes, bill.eur, bill.saved_eur)


def _alarms(state: State, audit: Sequence[AuditLine]) -> Iterator[Mapping[str, object]]:
    texts = {line.subject: line.text for line in reversed(audit)}
    for subject, since in sorted(state.alarms.items(), key=lambda item: -item[1]):
        yield {"subject": subject, "since": since, "text": texts.get(subject, "")}


def _pool(state: State, pool: Pool, deployment: Deployment, now: float, accounts: Accounts) -> PoolFacts:
    live = [vm for vm in state.vms.values() if vm.pool == pool.name and vm.live]
    today, month = accounts.today.get(pool.name, Bill()), accounts.this_month(pool.name)
    return PoolFacts(
        name=pool.name,
        forge=pool.forge.value,
        labels=pool.labels,
        max=pool.max,
        live=len(live),
        phases=dict(Counter(vm.phase.name.lower() for vm in sorted(live, key=lambda vm: -vm.phase))),
        waiting=sum(job.status is JobStatus.QUEUED and job.pool == pool.name for job in state.jobs.values()),
        blocked=pool_block(Draft(state, now, deployment), pool),
        ladder=list(_ladder(state, pool, live, now)),
        eur_today=today.eur,
        saved_today=today.saved_eur,
        eur_month=month.eur,
        saved_month=month.saved_eur,
    )


def _ladder(state: State, pool: Pool, live: Sequence[Vm], now: float) -> Iterator[RungFacts]:
    known = state.pools.get(pool.name)
    for rung in pool.ladder:
        until = known.cooldowns.get(rung.flavor, 0.0) if known else 0.0
        yield RungFacts(
            rung.flavor,
            rung.market.value,
            rung.eur_per_hour,
            until if until > now else None,
            sum(vm.flavor == rung.flavor for vm in live),
        )


def _jobs(state: State, deployment: Deployment, now: float, accounts: Accounts) -> Iterator[JobFactsShown]:
    open_jobs = [job for job in state.jobs.values() if job.status is not JobStatus.DONE]
    # Waiting ones first, oldest first: they are what somebody asks about.
    open_jobs.sort(key=lambda job: (job.status is JobStatus.RUNNING, not job.pool, job.facts.queued_at))
    done = [job for job in state.jobs.values() if job.status is JobStatus.DONE and job.pool]
    done.sort(key=lambda job: -(job.ended_at or 0.0))
    for job in (*open_jobs[:JOBS], *done[:RECENT]):
        yield job_facts(state, job, deployment, now, accounts)


def _vms(state: State, deployment: Deployment, now: float) -> Iterator[VmFacts]:
    live = sorted((vm for vm in state.vms.values() if vm.live), key=lambda vm: vm.planned_at)
    gone = sorted(
        (vm for vm in state.vms.values() if vm.phase is Phase.GONE), key=lambda vm: -(vm.deleted_at or 0)
    )
    for vm in (*live[:VMS], *gone[:RECENT]):
        yield _vm_facts(vm, deployment, now)
