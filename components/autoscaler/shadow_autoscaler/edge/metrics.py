"""Prometheus metrics: what decisions tell, and what the state shows when it is asked."""

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shadow_autoscaler.core.accounts import Accounts
from shadow_autoscaler.core.events import Event, LeftoverRemoved, ReclaimNoticed
from shadow_autoscaler.core.jobs import Job, JobStatus
from shadow_autoscaler.core.ledger import billed_minutes
from shadow_autoscaler.core.machines import Cause, Phase, Vm
from shadow_autoscaler.core.state import Decision, State
from shadow_autoscaler.ports import LeaseLostError
from shadow_autoscaler.runtime.service import Service

_NAME: Final = "shadow_autoscaler_"
_WAITS = (5, 15, 30, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600, 7200, 21_600)
_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """All metrics of one server, in a registry of their own. An observer of the engine."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.webhooks = self._counter("webhooks", "Webhooks by what became of them", "forge", "result")
        self.old_secret = self._counter("webhook_old_secret", "Webhooks under the former secret", "forge")
        self.webhook_s = self._histogram("webhook_seconds", "Webhook to answer", _FAST, "forge")
        self.handovers = self._counter("handovers", "Answers to requests for a configuration", "status")
        self.throttled = self._counter("vm_calls_throttled", "Calls of VMs that called too often", "call")
        self.create_s = self._histogram("create_seconds", "Job queued to create call sent", _FAST, "pool")
        self.queue_s = self._histogram("queue_seconds", "Job queued to running", _WAITS, "pool")
        self.boot_s = self._histogram("boot_seconds", "Server created to good GPU", _WAITS, "pool", "market")
        self.pickup_s = self._histogram("pickup_seconds", "Configuration handed over to job", _WAITS, "pool")
        self.job_s = self._histogram("job_seconds", "Job running to done", _WAITS, "pool")
        self.jobs_done = self._counter("jobs_done", "Jobs ended", "pool", "conclusion")
        self.vms_ended = self._counter("vms_ended", "VMs given up, by cause", "pool", "market", "cause")
        self.reclaims = self._counter("reclaims", "Spot VMs taken by the cloud", "pool")
        self.notices = self._counter("reclaim_notices", "Reclaim notices that VMs passed on", "pool")
        self.fallbacks = self._counter("fallbacks", "VMs asked for beyond the first rung", "pool")
        self.leftovers = self._counter("leftovers", "Removals of what servers left behind", "kind", "result")
        self.vm_s = self._counter("vm_seconds", "Billed seconds of VMs that are gone", "pool", "market")
        self.eur = self._counter("cost_eur", "EUR of VMs that are gone", "pool", "market")

    def decided(self, event: Event | None, decision: Decision, before: State, now: float) -> None:
        """Count what a decision changes."""
        for vm in decision.vms:
            self._vm(vm, before.vms.get(vm.name), before, now)
        for job in decision.jobs:
            self._job(job, before.jobs.get(job.key))
        if isinstance(event, LeftoverRemoved):
            result = "failed" if event.fault else "removed"
            self.leftovers.labels(event.leftover.kind.value, result).inc()
        if isinstance(event, ReclaimNoticed) and event.vm in before.vms:
            self.notices.labels(before.vms[event.vm].pool).inc()

    def _vm(self, vm: Vm, old: Vm | None, before: State, now: float) -> None:
        if old is None and vm.rung > 0:
            self.fallbacks.labels(vm.pool).inc()
        if vm.sent_at is not None and (old is None or old.sent_at is None):
            job = before.jobs.get(vm.job) if vm.job else None
            if job is not None:
                self.create_s.labels(vm.pool).observe(max(0.0, now - job.facts.queued_at))
        if vm.healthy_at is not None and (old is None or old.healthy_at is None) and vm.created_at:
            self.boot_s.labels(vm.pool, vm.market.value).observe(vm.healthy_at - vm.created_at)
        if vm.busy_at is not None and (old is None or old.busy_at is None) and vm.ready_at is not None:
            self.pickup_s.labels(vm.pool).observe(max(0.0, vm.busy_at - vm.ready_at))
        if vm.cause is not Cause.NONE and (old is None or old.cause is Cause.NONE):
            self.vms_ended.labels(vm.pool, vm.market.value, vm.cause.value).inc()
            if vm.cause is Cause.RECLAIMED:
                self.reclaims.labels(vm.pool).inc()
        if vm.phase is Phase.GONE and (old is None or old.phase is not Phase.GONE):
            self._bill(vm, now)

    def _bill(self, vm: Vm, now: float) -> None:
        minutes = billed_minutes(vm, now)
        if minutes:
            self.vm_s.labels(vm.pool, vm.market.value).inc(minutes * 60)
            self.eur.labels(vm.pool, vm.market.value).inc(minutes / 60 * vm.eur_per_hour)

    def _job(self, job: Job, old: Job | None) -> None:
        status = old.status if old else JobStatus.QUEUED
        if not job.pool or status is JobStatus.DONE:
            return
        facts = job.facts
        if job.status >= JobStatus.RUNNING > status and facts.started_at is not None:
            self.queue_s.labels(job.pool).observe(max(0.0, facts.started_at - facts.queued_at))
        if job.status is JobStatus.DONE:
            self.jobs_done.labels(job.pool, facts.conclusion or "unknown").inc()
            if facts.started_at is not None and facts.finished_at is not None:
                self.job_s.labels(job.pool).observe(max(0.0, facts.finished_at - facts.started_at))

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"{_NAME}{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"{_NAME}{name}", text, labels, buckets=buckets, registry=self.registry)


class StateCollector(Collector):
    """Gauges that are read from the state at each scrape."""

    def __init__(self, service: Service, unwritten: Callable[[], int]) -> None:
        self._service, self._unwritten = service, unwritten

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges; those of the state only where this process decides."""
        yield _gauge("deciding", "1 where this process holds the lease", int(self._service.engine.active))
        yield _gauge("webhooks_unwritten", "Webhooks not written to the inbox yet", self._unwritten())
        outbox = _labelled("intents_waiting", "Intents not carried out yet", "lane")
        for lane, count in self._service.outbox.waiting().items():
            outbox.add_metric([lane], count)
        yield outbox
        try:
            yield from self._service.engine.read(lambda state: list(self._state(state)))
        except LeaseLostError:
            return

    def _state(self, state: State) -> Iterator[Metric]:
        yield _vms(state)
        yield _jobs(state)
        yield from self._pools(state)
        yield _gauge("alarms", "Alarms that are up", len(state.alarms))
        yield _gauge("suspects", "Things that look left over and wait for a second look", len(state.suspects))
        hourly = sum(vm.eur_per_hour for vm in state.vms.values() if vm.live and vm.created_at is not None)
        yield _gauge("eur_per_hour", "EUR per hour of all live VMs", hourly)
        quota = _labelled("quota_room", "Room left in the project", "resource")
        for name in ("instances", "cores", "ram_mib", "volumes", "gigabytes", "ports"):
            value = getattr(state.quota, name, None)
            if value is not None:
                quota.add_metric([name], value)
        yield quota

    def _pools(self, state: State) -> Iterator[Metric]:
        now = self._service.engine.clock()
        maximum = _labelled("pool_max", "Live VMs at most", "pool")
        blocked = _labelled("pool_blocked", "1 where a pool asks for no VMs", "pool", "reason")
        for pool in self._service.engine.deployment.pools:
            maximum.add_metric([pool.name], pool.max)
            known = state.pools.get(pool.name)
            if known is not None:
                blocked.add_metric([pool.name, "broken"], int(bool(known.broken)))
                blocked.add_metric([pool.name, "paused"], int(known.paused_until > now))
                blocked.add_metric([pool.name, "held"], int(known.held_until > now))
                blocked.add_metric([pool.name, "drained"], int(known.drained))
        yield from (maximum, blocked)
        yield from _money(Accounts.of(state, self._service.engine.deployment, now))


def _money(accounts: Accounts) -> Iterator[Metric]:
    spent = _labelled("month_eur", "EUR of this month (UTC)", "pool")
    saved = _labelled("month_saved_eur", "EUR of this month saved against on-demand", "pool")
    for (month, pool), bill in accounts.months.items():
        if month == accounts.month:
            spent.add_metric([pool], bill.eur)
            saved.add_metric([pool], bill.saved_eur)
    yield from (spent, saved)


def _vms(state: State) -> Metric:
    family = _labelled("vms", "Live VMs", "pool", "market", "phase")
    tally = Tally((vm.pool, vm.market.value, vm.phase.name.lower()) for vm in state.vms.values() if vm.live)
    for labels, count in tally.items():
        family.add_metric(labels, count)
    return family


def _jobs(state: State) -> Metric:
    family = _labelled("jobs", "Jobs that are not done; no pool where none matches", "pool", "status")
    jobs = (job for job in state.jobs.values() if job.status is not JobStatus.DONE)
    for labels, count in Tally((job.pool, job.status.name.lower()) for job in jobs).items():
        family.add_metric(labels, count)
    return family


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{_NAME}{name}", text, value=value)


def _labelled(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_NAME}{name}", text, labels=labels)
