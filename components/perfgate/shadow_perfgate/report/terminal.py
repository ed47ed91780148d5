"""The verdict as a table on the terminal; in a log without colours the words are the same."""

from rich.console import Console
from rich.markup import escape as unstyled
from rich.table import Table

from shadow_perfgate.decide.verdict import Decision, MetricDecision, Verdict, WorkloadDecision
from shadow_perfgate.report import summary
from shadow_perfgate.text import percent, probability, share, visible

_COLOURS = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.ENVIRONMENT: "yellow",
    Verdict.INVALID: "bold red",
}
_COLUMNS = ("metric", "base", "candidate", "worse by", "90 % interval", "limit", "p", "detects", "verdict")


def show(decision: Decision, console: Console) -> None:
    """Print a decision: a table for each workload, then reasons, then the verdict in one line."""
    for workload in decision.workloads:
        _workload(workload, console)
    for notice in decision.notices:
        console.print(f"note: {_escape(notice)}", soft_wrap=True)
    colour = "yellow" if summary.colour(decision) == "nothing" else _COLOURS[decision.verdict]
    console.print(f"[{colour}]perfgate {_escape(summary.headline(decision))}[/]", soft_wrap=True)


def _workload(workload: WorkloadDecision, console: Console) -> None:
    if workload.metrics:
        table = Table(title=_escape(f"{workload.workload}: {summary.how(workload)}"), title_justify="left")
        for column in _COLUMNS:
            table.add_column(column, justify="left" if column in {"metric", "verdict"} else "right")
        for metric in workload.metrics:
            table.add_row(*_row(metric))
        console.print(table)
    for finding in workload.findings:
        word = "note" if finding.verdict is None else f"[{_COLOURS[finding.verdict]}]{finding.verdict}[/]"
        console.print(f"{word}: {_escape(workload.workload)}: {_escape(finding.message)}", soft_wrap=True)
    for metric in workload.metrics:
        if metric.gated and (metric.verdict is not Verdict.PASS or metric.waiver or _noted(metric)):
            text = f"{workload.workload}/{metric.spec.name}: {metric.message}"
            console.print(
                f"[{_COLOURS[metric.verdict]}]{summary.status(metric)}[/]: {_escape(text)}", soft_wrap=True
            )
    for note in summary.notes(workload):
        console.print(f"note: {_escape(workload.workload)}: {_escape(note)}", soft_wrap=True)


def _escape(text: str) -> str:
    """Return text that rich prints as it is and that cannot steer the terminal."""
    return unstyled(visible(text))


def _noted(metric: MetricDecision) -> bool:
    return "cannot exclude" in metric.message


def _row(metric: MetricDecision) -> list[str]:
    exact = metric.p is None
    return [
        _escape(summary.name(metric)),
        summary.typical(metric.base),
        summary.typical(metric.candidate),
        share(metric.change),
        "exact" if exact else f"{share(metric.lower)} to {share(metric.upper)}",
        percent(metric.limit) if metric.gated else "",
        probability(metric.p_holm),
        "" if exact else share(metric.mde),
        f"[{_COLOURS[metric.verdict]}]{summary.status(metric)}[/]",
    ]
