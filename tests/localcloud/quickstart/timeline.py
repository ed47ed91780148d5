"""Every job's way as one table: queued, create sent, ACTIVE, GPU ok, online, picked up, done, deleted."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_STEPS = {
    "sent": "create",
    "active": "ACTIVE",
    "healthy": "GPU ok",
    "ready": "online",
    "busy": "picked up",
    "ended": "done",
    "deleted": "deleted",
}


def show(console: Console, facts: Mapping[str, Any], began: float) -> None:
    """Print the table, and what the day has cost and saved."""
    table = Table(title="Seconds from queued to …", title_justify="left", header_style="bold")
    table.add_column("job")
    table.add_column("machine")
    for title in _STEPS.values():
        table.add_column(title, justify="right")
    table.add_column("ended as")
    by_job = {job["key"]: job for job in facts["jobs"]}
    for vm in sorted(facts["vms"], key=lambda each: each["times"].get("planned", began)):
        job = by_job.get(vm["job"], {})
        start = job.get("queued_at") or vm["times"]["planned"]
        cells = [_since(vm["times"].get(step), start) for step in _STEPS]
        table.add_row(job.get("name", "—"), f"{vm['name']} {vm['market']}", *cells, vm["cause"])
    console.print(table)
    totals = facts["totals"]
    console.print(
        f"today {totals['eur_today']:.4f} EUR, {totals['saved_today']:.4f} EUR less than on-demand alone;"
        f" no machine left",
        style="bold green",
    )


def _since(at: float | None, start: float) -> str:
    return "" if at is None else f"{at - start:.1f}"
