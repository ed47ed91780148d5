"""Words that every report shares."""

from statistics import median

from shadow_perfgate.decide.shift import cv
from shadow_perfgate.decide.verdict import Decision, MetricDecision, Verdict, WorkloadDecision
from shadow_perfgate.model import Direction
from shadow_perfgate.text import number, percent

ARROWS = {Direction.LOWER: "↓", Direction.HIGHER: "↑", Direction.EQUAL: "="}
ICONS = {
    Verdict.PASS: "✅",
    Verdict.FAIL: "❌",
    Verdict.INCONCLUSIVE: "❔",
    Verdict.ENVIRONMENT: "⚠️",
    Verdict.INVALID: "🚫",
}
STAGES = {
    "stored": "against the stored baseline",
    "interleaved": "interleaved with the merge-base on this machine",
    "compare": "two given sessions",
}


def colour(decision: Decision) -> str:
    """Return the verdict, or `nothing` for a pass that rests on no comparison: it must not look like one."""
    empty = decision.verdict is Verdict.PASS and not decision.gated
    return "nothing" if empty else str(decision.verdict)


def headline(decision: Decision) -> str:
    """Return one line: the verdict and what it rests on."""
    return f"{decision.verdict.upper()}: {_reason(decision)}"


def _reason(decision: Decision) -> str:
    verdict, gated = decision.verdict, decision.gated
    said = [f.message for w in decision.workloads for f in w.findings if f.verdict is verdict]
    so_decided = [m for m in gated if m.verdict is verdict]
    if verdict is Verdict.PASS:
        return f"{len(gated)} gated metrics within their limits" if gated else "nothing was compared"
    if verdict is Verdict.FAIL and so_decided:
        return f"{len(so_decided)} of {len(gated)} gated metrics regressed"
    if verdict is Verdict.INCONCLUSIVE and so_decided:
        return f"{len(so_decided)} of {len(gated)} gated metrics could not be decided"
    return [*said, *(m.message for m in so_decided), "see the findings"][0]


def status(metric: MetricDecision) -> str:
    """Return a metric's verdict in one word."""
    if metric.waiver is not None:
        return "waived"
    return str(metric.verdict) if metric.gated else "observed"


def icon(metric: MetricDecision) -> str:
    """Return a sign for a metric's verdict."""
    if metric.waiver is not None:
        return "📝"
    return ICONS[metric.verdict] if metric.gated else "👁"


def typical(values: tuple[float, ...]) -> str:
    """Return the median of the runs and how much they vary."""
    if not values:
        return "-"
    spread = f" ({percent(cv(values))})" if len(values) > 1 and min(values) > 0 else ""
    return f"{number(median(values))}{spread}"


def name(metric: MetricDecision) -> str:
    """Return a metric's name with the way it gets better and its unit."""
    unit = "" if metric.spec.unit in {"count", "ratio", ""} else f" [{metric.spec.unit}]"
    return f"{metric.spec.name} {ARROWS[metric.spec.direction]}{unit}"


def how(workload: WorkloadDecision) -> str:
    """Return how a workload was compared."""
    looks = f", looks after {', '.join(map(str, workload.looks))} pairs" if workload.looks else ""
    return f"{STAGES[workload.stage]}{looks}"


def notes(workload: WorkloadDecision) -> list[str]:
    """Return what the sessions themselves say, each once."""
    said = [note for session in (workload.base, workload.candidate) if session for note in session.notes]
    return list(dict.fromkeys(said))
