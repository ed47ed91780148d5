"""The report's plots: how far each metric moved, its runs, main's history, memory over time."""

from collections.abc import Sequence
from math import isfinite
from statistics import median

from shadow_perfgate.baseline.history import Line
from shadow_perfgate.decide.verdict import MetricDecision, WorkloadDecision
from shadow_perfgate.model import Series, Session
from shadow_perfgate.report import summary
from shadow_perfgate.report.svg import Axis, area, dot, line, path, picture, text
from shadow_perfgate.text import number, quantity, share

_ROW = 30
_LONG = 600
"""Points to which a long line is thinned."""


def shifts(metrics: Sequence[MetricDecision]) -> str:
    """Return, for each metric, the change with its interval against the limit; right is worse."""
    shown = [metric for metric in metrics if metric.change is not None and isfinite(metric.change)]
    if not shown:
        return ""
    bounds = [b for m in shown for b in (m.change, m.lower, m.upper) if b is not None]
    axis = Axis.around([0.0, *bounds, *(m.limit for m in shown if m.gated)], 210, 1028)
    height = 30 + _ROW * len(shown)
    zero = axis.at(0)
    parts = [line(zero, 8, zero, height - 22, "zero"), text(zero, height - 6, "no change", "middle", "tick")]
    parts += [
        text(axis.at(tick), height - 6, share(tick, 0), "middle", "tick")
        for tick in axis.ticks(6)
        if abs(axis.at(tick) - zero) > 45
    ]
    for place, metric in enumerate(shown):
        parts += _shift(metric, axis, 22 + _ROW * place)
    return picture(1040, height, parts, "Change of each metric with its 90 % interval; right is worse")


def _shift(metric: MetricDecision, axis: Axis, y: float) -> list[str]:
    kind = summary.status(metric)
    parts = [text(200, y + 4, metric.spec.name, "end", "name")]
    if metric.lower is not None and metric.upper is not None:
        low, high = (metric.change if not isfinite(b) else b for b in (metric.lower, metric.upper))
        parts.append(line(axis.at(low or 0.0), y, axis.at(high or 0.0), y, f"interval {kind}"))
    if metric.gated:
        limit = axis.at(metric.limit)
        parts.append(line(limit, y - 9, limit, y + 9, "limit"))
    parts.append(dot(axis.at(metric.change or 0.0), y, kind, f"{metric.spec.name}: {metric.message}", 5))
    return parts


def runs(metric: MetricDecision) -> str:
    """Return every run of both sides as a point, in the order measured, with medians and the limit."""
    if not metric.base or not metric.candidate:
        return ""
    allowed = _allowed(metric)
    axis = Axis.around([*metric.base, *metric.candidate, *([allowed] if metric.gated else [])], 150, 12)
    parts: list[str] = []
    for tick in axis.ticks(3):
        parts += [
            line(64, axis.at(tick), 330, axis.at(tick), "grid"),
            text(58, axis.at(tick) + 4, number(tick), "end", "tick"),
        ]
    if metric.gated:
        parts += [line(64, axis.at(allowed), 330, axis.at(allowed), "limit")]
    for start, cls, values in ((70, "base", metric.base), (202, "candidate", metric.candidate)):
        step = 120 / max(1, len(values) - 1)
        middle = axis.at(median(values))
        parts.append(line(start - 4, middle, start + 124, middle, f"median {cls}"))
        parts += [
            dot(round(start + step * place, 1), axis.at(value), cls, quantity(value, metric.spec.unit))
            for place, value in enumerate(values)
        ]
        parts.append(text(start + 60, 168, cls, "middle", "tick"))
    return picture(340, 174, parts, f"{metric.spec.name} of every run")


def _allowed(metric: MetricDecision) -> float:
    base = median(metric.base)
    return base / (1 + metric.limit) if metric.spec.direction == "higher" else base * (1 + metric.limit)


def history(found: Line) -> str:
    """Return a metric over main's sessions, with its steps."""
    values = [point.value for point in found.points]
    across = Axis(0, max(1, len(values) - 1), 70, 1028)
    up = Axis.around(values, 130, 12)
    parts: list[str] = []
    for tick in up.ticks(3):
        parts += [
            line(70, up.at(tick), 1028, up.at(tick), "grid"),
            text(64, up.at(tick) + 4, number(tick), "end", "tick"),
        ]
    for step in found.steps:
        x = across.at(step.place)
        worse = "worse" if step.change > 0 else "better"
        parts += [
            line(x, 12, x, 130, f"step {worse}"),
            text(x + 4, 22, share(step.change), "start", f"tick {worse}"),
        ]
    places = range(0, len(values), max(1, len(values) // _LONG))
    parts.append(path([(across.at(p), up.at(values[p])) for p in places], "line base"))
    if len(values) <= 60:
        parts += [
            dot(
                across.at(p),
                up.at(values[p]),
                "base",
                f"{found.points[p].commit[:12]}: {number(values[p])}",
                2.5,
            )
            for p in places
        ]
    parts += [
        text(70, 148, found.points[0].created[:10], "start", "tick"),
        text(1028, 148, found.points[-1].created[:10], "end", "tick"),
    ]
    return picture(1040, 154, parts, f"{found.workload}/{found.spec.name} on the main branch")


def memory(workload: WorkloadDecision) -> str:
    """Return memory over time of the first counted run of each side that has it."""
    both = [("base", _memory(workload.base)), ("candidate", _memory(workload.candidate))]
    known = [(cls, series) for cls, series in both if series is not None]
    if not known:
        return ""
    times = [_times(series) for _, series in known]
    across = Axis(0, max(t[-1] for t in times) or 1.0, 70, 1028)
    up = Axis.around([value for _, series in known for value in series.values], 130, 12)
    parts: list[str] = []
    for tick in up.ticks(3):
        parts += [
            line(70, up.at(tick), 1028, up.at(tick), "grid"),
            text(64, up.at(tick) + 4, number(tick), "end", "tick"),
        ]
    for (cls, series), moments in zip(known, times, strict=True):
        places = range(0, len(series.values), max(1, len(series.values) // _LONG))
        parts.append(path([(across.at(moments[p]), up.at(series.values[p])) for p in places], f"line {cls}"))
    parts += [text(across.at(tick), 148, f"{tick:g} s", "middle", "tick") for tick in across.ticks(5)]
    parts.append(area(70, 12, 1028, 130, "frame"))
    return picture(1040, 154, parts, "Memory over time")


def _memory(session: Session | None) -> Series | None:
    for run in session.counted if session else ():
        for name in ("vram", "vram_process", "vram_device"):
            if name in run.series and run.series[name].values:
                return run.series[name]
    return None


def _times(series: Series) -> tuple[float, ...]:
    return series.times_s or tuple(float(place) for place in range(len(series.values)))
