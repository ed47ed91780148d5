"""Every job's way as one table: queued, create sent, ACTIVE, GPU ok, online, picked up, done, deleted."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 100
"""Columns that the table needs at most."""
_STEPS = {
    "sent": "create",
    "active": "ACTIVE",
    "healthy": "GPU ok",
    "ready": "online",
    "busy": "picked up",
    "ended": "done",
    "deleted": "gone",
}
_FORGES = {"github": "GitHub", "gitlab": "GitLab"}


def show(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the table, and what the day has cost and saved."""
    console.print(table(facts), width=WIDTH)
    totals = facts["totals"]
    console.print(
        f"✓ every job has succeeded and no machine is left; today {totals['eur_today']:.4f} EUR"
        f" at list prices, {totals['saved_today']:.4f} EUR less than on-demand alone",
        style="bold green",
        soft_wrap=True,
    )


def table(facts: Mapping[str, Any]) -> Table:
    """Return the table: one row per machine, in the order of their making."""
    shown = Table(
        title="Seconds from queued to …",
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    shown.add_column("job", min_width=17, overflow="fold")
    shown.add_column("machine", min_width=23, overflow="fold")
    for title in _STEPS.values():
        shown.add_column(title, justify="right", max_width=6)
    by_job = {job["key"]: job for job in facts["jobs"]}
    for vm in sorted(facts["vms"], key=lambda each: each["times"].get("planned", 0.0)):
        job = by_job.get(vm["job"], {})
        start = job.get("queued_at") or vm["times"]["planned"]
        cells = [_since(vm["times"].get(step), start) for step in _STEPS]
        cause = "reclaimed" if vm["reclaim_at"] else vm["cause"]
        machine = Text(f"{vm['name']}\n{vm['market']}, {cause}")
        shown.add_row(Text(_job(job)), machine, *cells)
    return shown


def _job(job: Mapping[str, Any]) -> str:
    if not job:
        return "—"
    attempt = int(job["key"].rpartition(":")[2])
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"{job['name']}\n{_FORGES[job['forge']]}{again}"


def _since(at: float | None, start: float) -> str:
    if at is None:
        return ""
    seconds = at - start
    return f"{seconds:.1f}" if seconds < 1000 else f"{seconds:.0f}"
