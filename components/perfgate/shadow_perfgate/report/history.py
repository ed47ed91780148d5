"""Main's history as a table on the terminal."""

from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from shadow_perfgate.baseline.history import Line
from shadow_perfgate.decide.history import ENDS
from shadow_perfgate.text import quantity, share


def show(found: list[Line], console: Console) -> None:
    """Print one row for each metric, then what is worth an issue."""
    table = Table()
    for column in ("metric", "machine", "sessions", "first", "newest", "worse by", "steps"):
        table.add_column(column, justify="left" if column in {"metric", "machine"} else "right")
    for line in found:
        table.add_row(*map(escape, _row(line)))
    console.print(table)
    for line in found:
        for message in line.messages():
            console.print(f"warning: {escape(message)}", soft_wrap=True)


def _row(line: Line) -> list[str]:
    values = [point.value for point in line.points]
    return [
        f"{line.workload}/{line.spec.name}",
        line.machine,
        str(len(values)),
        quantity(median(values[:ENDS]), line.spec.unit),
        quantity(median(values[-ENDS:]), line.spec.unit),
        share(line.drift.change) if line.drift else "",
        str(len(line.steps) or ""),
    ]
