"""`status`, `jobs` and `why`: read from the store, also while the server is down."""

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from shadow_autoscaler.core.accounts import Accounts
from shadow_autoscaler.core.jobs import Job, JobStatus
from shadow_autoscaler.core.state import State
from shadow_autoscaler.core.why import why as explain
from shadow_autoscaler.edge.cli.codes import CommandError, Exit
from shadow_autoscaler.edge.cli.opening import base, emit, state
from shadow_autoscaler.edge.page import words
from shadow_autoscaler.edge.page.facts import Facts, gather, job_facts

if TYPE_CHECKING:
    from rich.table import Table


def status(options: argparse.Namespace) -> int:
    """Show pools, VMs, EUR and alarms."""
    with base(options) as opened:
        known, deployment, now = state(opened)
        facts = gather(known, deployment, now, opened.store.audit(limit=20))
    if options.json:
        emit(facts.plain())
    else:
        _print_status(facts)
    attention = facts.alarms or any(pool.blocked for pool in facts.pools)
    return Exit.ATTENTION if attention else Exit.OK


def jobs(options: argparse.Namespace) -> int:
    """List jobs."""
    with base(options) as opened:
        known, deployment, now = state(opened)
    shown = gather(known, deployment, now).jobs
    if not options.all:
        shown = [job for job in shown if job.status != "done"]
    if options.json:
        emit([asdict(job) for job in shown])
        return Exit.OK
    table = _table("job", "name", "state", "pool", "VM", "since", "EUR", "why")
    for job in shown:
        since = words.duration(now - (job.started_at or job.queued_at))
        state_of = job.conclusion or job.status
        eur = f"{job.eur:.3f}" if job.eur else "-"
        table.add_row(job.key, job.name, state_of, job.pool or "-", job.vm or "-", since, eur, job.why)
    _print(table, empty="no job waits or runs" if not shown else "")
    return Exit.OK


def why(options: argparse.Namespace) -> int:
    """Say in one paragraph why a job waits."""
    with base(options) as opened:
        known, deployment, now = state(opened)
        job = _find(known, options.job)
        lines = opened.store.audit(str(job.key), 20)
    text = explain(known, job.key, now, deployment)
    if options.json:
        facts = job_facts(known, job, deployment, now, Accounts.of(known, deployment, now))
        document = {**asdict(facts), "why": text}
        emit({**document, "audit": [asdict(line) for line in lines]})
        return Exit.OK
    sys.stdout.write(f"{job.facts.name} ({job.key}): {text}\n")
    for line in reversed(lines):
        sys.stdout.write(f"  {words.moment(line.at)}  {line.text}\n")
    return Exit.OK


def _find(known: State, text: str) -> Job:
    fitting = [job for key, job in known.jobs.items() if text in {str(key), str(key.job_id)}]
    if not fitting:
        waiting = [str(job.key) for job in known.jobs.values() if job.status is not JobStatus.DONE][:5]
        remedy = f"for example {', '.join(waiting)}" if waiting else "no job waits or runs"
        raise CommandError(Exit.NOT_FOUND, f"job {text!r} is not known; {remedy} (see `jobs --all`)")
    return max(fitting, key=lambda job: (job.facts.queued_at, job.key.attempt))


def _print_status(facts: Facts) -> None:
    totals = facts.totals
    sys.stdout.write(
        f"{facts.deployment} at {words.moment(facts.at)}\n"
        f"jobs: {totals.waiting} waiting, {totals.running} running\n"
        f"VMs:  {totals.vms} of {totals.max_vms}, {totals.spot} spot\n"
        f"EUR:  {words.amount(totals.eur_today)} today, {words.amount(totals.eur_per_hour)} per hour now, "
        f"{words.amount(totals.saved_today)} saved today\n"
        f"      {words.amount(totals.eur_month)} this month, {words.amount(totals.saved_month)} saved\n\n"
    )
    for alarm in facts.alarms:
        sys.stdout.write(f"ALARM {alarm['subject']}: {alarm['text']}\n")
    pools = _table("pool", "forge", "VMs", "phases", "waiting", "EUR today", "this month", "saved", "blocked")
    for pool in facts.pools:
        phases = ", ".join(f"{count} {phase}" for phase, count in pool.phases.items()) or "-"
        live = f"{pool.live}/{pool.max}"
        eur = [words.amount(pool.eur_today), words.amount(pool.eur_month), words.amount(pool.saved_month)]
        pools.add_row(pool.name, pool.forge, live, phases, str(pool.waiting), *eur, pool.blocked or "-")
    _print(pools)
    live_vms = [vm for vm in facts.vms if vm.ended_at is None]
    if live_vms:
        vms = _table("VM", "phase", "bought", "flavor", "age", "EUR", "job")
        for vm in live_vms:
            age = words.duration(facts.at - vm.since)
            vms.add_row(vm.name, vm.phase, vm.market, vm.flavor, age, f"{vm.eur:.3f}", vm.job or "-")
        _print(vms)


def _table(*columns: str) -> "Table":
    from rich.table import Table  # noqa: PLC0415 -- only where it is drawn

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print(table: "Table", *, empty: str = "") -> None:
    from rich.console import Console  # noqa: PLC0415 -- same

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 200, highlight=False)
    if empty:
        console.print(empty)
    else:
        console.print(table)
