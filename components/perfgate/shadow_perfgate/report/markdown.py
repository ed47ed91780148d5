"""The verdict as Markdown, for a job's summary and for one comment that is kept up to date."""

import re

from shadow_perfgate.decide.verdict import Decision, MetricDecision, Verdict, WorkloadDecision
from shadow_perfgate.report import summary
from shadow_perfgate.text import percent, probability, share, visible

COMMENT_LIMIT = 65_000
"""Characters; GitHub takes 65,536 in a comment."""


def comment_key(text: str) -> str:
    """Return `text` as it may stand in a comment's marker, which it must not end."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^\w./,-]+", "_", text))[:120] or "perfgate"


def marker(key: str) -> str:
    """Return the hidden first line by which the comment of a gate is found again."""
    return f"<!-- perfgate:{comment_key(key)} -->"


def comment(decision: Decision) -> str:
    """Return the report as a comment: its marker, then as much as a forge takes."""
    return f"{marker(decision.key)}\n{render(decision, limit=COMMENT_LIMIT)}"


def render(decision: Decision, *, limit: int = COMMENT_LIMIT) -> str:
    """Return the whole report; details that do not fit within `limit` are cut at the end."""
    icon = "⚪" if summary.colour(decision) == "nothing" else summary.ICONS[decision.verdict]
    which = f" ({_text(decision.key)})" if decision.key not in {"", "perfgate"} else ""
    lines = [f"### perfgate{which}: {icon} {_cell(_text(summary.headline(decision)))}", ""]
    for workload in decision.workloads:
        lines += _workload(workload)
    lines += [f"> {_text(notice)}" for notice in decision.notices]
    text = "\n".join(lines).rstrip() + "\n"
    if len(text) > limit:
        text = (
            text[: limit - 60].rsplit("\n", 1)[0] + "\n\n… cut; the whole report is in the job's artifacts.\n"
        )
    return text


def _workload(workload: WorkloadDecision) -> list[str]:
    lines = [f"**{_text(workload.workload)}** - {summary.how(workload)}", ""]
    if workload.metrics:
        lines += [
            "| metric | base (CV) | candidate (CV) | worse by [interval] | limit | p | detects | verdict |",
            "|---|---:|---:|---:|---:|---:|---:|---|",
            *(_row(metric) for metric in workload.metrics),
            "",
        ]
    said = [f"- {_sign(f.verdict)}{_text(f.message)}" for f in workload.findings]
    said += [
        f"- {summary.icon(m)} {_code(m.spec.name)}: {_text(m.message)}"
        for m in workload.metrics
        if m.gated and (summary.status(m) != "pass" or "cannot exclude" in m.message)
    ]
    said += [f"- {_text(note)}" for note in summary.notes(workload)]
    return [*lines, *said, ""] if said else lines


def _row(metric: MetricDecision) -> str:
    exact = metric.p is None
    interval = "" if exact else f" [{share(metric.lower)}, {share(metric.upper)}]"
    change = f"**{share(metric.change)}**" if metric.gated else share(metric.change)
    cells = (
        f"{_code(metric.spec.name)} {_text(summary.name(metric).removeprefix(metric.spec.name).strip())}",
        summary.typical(metric.base),
        summary.typical(metric.candidate),
        change + interval,
        percent(metric.limit) if metric.gated else "",
        "exact" if exact else probability(metric.p_holm),
        "" if exact else share(metric.mde),
        f"{summary.icon(metric)} {summary.status(metric)}",
    )
    return f"| {' | '.join(map(_cell, cells))} |"


def _sign(verdict: Verdict | None) -> str:
    return "" if verdict is None else f"{summary.ICONS[verdict]} "


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _text(text: str) -> str:
    """Return text that cannot start HTML, link, mention anyone or break a list."""
    escaped = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace("](", "]\\(")
    return escaped.replace("@", "@\u200b")


def _code(text: str) -> str:
    """Return text as a code span that it cannot leave."""
    return f"`{visible(text).replace('`', chr(39))}`"
