"""The decision on one workload: validity, environment, metrics, leaks, waivers, in this order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from statistics import median

from shadow_perfgate.decide import environment, exact, sampled, validity
from shadow_perfgate.decide.leak import LeakResult, find_leak
from shadow_perfgate.decide.rules import Role, Rules, Waiver
from shadow_perfgate.decide.sampled import Look
from shadow_perfgate.decide.samples import Samples, collect
from shadow_perfgate.decide.verdict import Finding, MetricDecision, Verdict, WorkloadDecision, worst
from shadow_perfgate.model import Session
from shadow_perfgate.text import number

_NO_NUMBERS = frozenset({"value", "empty", "meaning", "nothing"})
"""Findings after which metrics cannot even be shown side by side."""


def decide_workload(
    base: Session, candidate: Session, rules: Rules, today: date, look: Look | None = None
) -> WorkloadDecision:
    """Decide on one workload; without `look` the runs given are all there are."""
    look = look or Look(rules.alpha, last=True, min_runs=rules.min_runs)
    findings = validity.check(base, candidate, rules)
    metrics: list[MetricDecision] = []
    if not _NO_NUMBERS & {finding.rule for finding in findings}:
        base, candidate, more = environment.check(base, candidate, rules)
        findings += more
        metrics = decide_metrics(list(collect(base, candidate, rules)), look)
        findings += _ungated(metrics, candidate.workload.name, rules)
        findings += leaks(base, candidate, rules)
    name = candidate.workload.name
    metrics = [_waive_metric(metric, name, rules, today) for metric in metrics]
    findings = [_waive_finding(finding, name, rules, today) for finding in findings]
    return WorkloadDecision(
        workload=name,
        verdict=_verdict(metrics, findings),
        metrics=tuple(metrics),
        findings=tuple(findings),
        base=base,
        candidate=candidate,
        alpha=look.alpha if look.last else None,
    )


def over_gate(
    decided: Sequence[WorkloadDecision], rules_for: Callable[[str], Rules], today: date
) -> tuple[WorkloadDecision, ...]:
    """Return the decisions with p values adjusted over the gated metrics of all workloads of a gate.

    Each workload was adjusted for its own metrics only; a merge request is blocked by any of them.
    """
    tested = [
        (place, m) for place, one in enumerate(decided) for m in one.metrics if m.gated and m.p is not None
    ]
    adjusted = sampled.holm([m.p or 0.0 for _, m in tested])
    found: list[dict[str, float]] = [{} for _ in decided]
    for (place, metric), p in zip(tested, adjusted, strict=True):
        found[place][metric.spec.name] = p
    return tuple(
        _adjusted(one, found[place], rules_for(one.workload), today) for place, one in enumerate(decided)
    )


def _adjusted(
    decided: WorkloadDecision, p_holm: Mapping[str, float], rules: Rules, today: date
) -> WorkloadDecision:
    old, new, alpha = decided.base, decided.candidate, decided.alpha
    moved = {m.spec.name for m in decided.metrics if p_holm.get(m.spec.name, m.p_holm) != m.p_holm}
    if alpha is None or old is None or new is None or not moved:
        return decided
    look = Look(alpha, last=True, min_runs=rules.min_runs)
    again = {
        s.spec.name: sampled.decide(s, s.shift(), p_holm[s.spec.name], look)
        for s in collect(old, new, rules)
        if s.spec.name in moved
    }
    metrics = [
        _waive_metric(again[m.spec.name], decided.workload, rules, today) if m.spec.name in again else m
        for m in decided.metrics
    ]
    return replace(decided, metrics=tuple(metrics), verdict=_verdict(metrics, list(decided.findings)))


def decide_metrics(found: list[Samples], look: Look) -> list[MetricDecision]:
    """Decide on each metric; p values are adjusted over the gated ones that ranks decide on."""
    noisy = [samples for samples in found if not exact.applies(samples)]
    shifts = {samples.spec.name: samples.shift() for samples in noisy}
    gated = [samples.spec.name for samples in noisy if samples.role is Role.GATE]
    adjusted = dict(zip(gated, sampled.holm([shifts[name].p for name in gated]), strict=True))
    return [
        sampled.decide(s, shifts[s.spec.name], adjusted.get(s.spec.name, shifts[s.spec.name].p), look)
        if s.spec.name in shifts
        else exact.decide(s)
        for s in found
    ]


def _ungated(metrics: list[MetricDecision], workload: str, rules: Rules) -> Iterator[Finding]:
    """Yield a fault when nothing can block and nobody asked for that: such a gate is green for ever."""
    names = [metric.spec.name for metric in metrics]
    asked = any(name in rules.thresholds or f"{workload}/{name}" in rules.thresholds for name in names)
    if names and not asked and not any(metric.gated for metric in metrics):
        yield Finding(
            "ungated",
            Verdict.INVALID,
            f"no metric can block: {', '.join(names)} are only observed; give one a limit under [metrics] in "
            'perfgate.toml, or role = "observe" when it is only to be watched',
        )


def _verdict(metrics: list[MetricDecision], findings: list[Finding]) -> Verdict:
    said = [finding.verdict for finding in findings if finding.verdict is not None]
    if Verdict.ENVIRONMENT in said:
        # On an unfit machine a slower candidate proves nothing.
        return worst(said)
    return worst([*said, *(metric.verdict for metric in metrics)])


def leaks(base: Session, candidate: Session, rules: Rules) -> Iterator[Finding]:
    """Yield what the trend test says of each memory series of the candidate."""
    names = dict.fromkeys(n for run in candidate.runs for n in run.series if n.endswith("_quiescent"))
    for name in names:
        found = _results(candidate, name, rules)
        leaking = [result for result in found if result.leak]
        if 2 * len(leaking) > len(found):
            before = [result.slope for result in _results(base, name, rules) if result.leak]
            yield _leak(name, leaking, len(found), before, rules)
        elif found and all(result.points < rules.leak.min_points for result in found):
            yield Finding(
                "leak",
                None,
                f"{name}: {found[0].points} batches, {rules.leak.min_points} needed to test for a leak",
            )


def _results(session: Session, name: str, rules: Rules) -> list[LeakResult]:
    return [find_leak(run.series[name].values, rules.leak) for run in session.runs if name in run.series]


def _leak(name: str, leaking: list[LeakResult], of: int, before: list[float], rules: Rules) -> Finding:
    slope = median(result.slope for result in leaking)
    growth = median(result.growth for result in leaking)
    text = (
        f"{name}: grows by {number(slope)} MiB a batch, {number(growth)} MiB over the batches tested "
        f"(allowed {number(rules.leak.floor)} MiB; p {leaking[0].p:.1g}) in {len(leaking)} of {of} runs"
    )
    if before and slope <= 1.5 * median(before):
        return Finding("leak", None, f"{text}; main leaks as much")
    verdict = Verdict.FAIL if rules.leak.role is Role.GATE else None
    return Finding("leak", verdict, f"{text}: a memory leak")


def _waive_metric(metric: MetricDecision, workload: str, rules: Rules, today: date) -> MetricDecision:
    if metric.verdict is not Verdict.FAIL:
        return metric
    waiver, note = _waiver(metric.spec.name, workload, metric.change, rules, today)
    if waiver is None:
        return replace(metric, message=metric.message + note)
    return replace(metric, verdict=Verdict.PASS, message=metric.message + note, waiver=waiver)


def _waive_finding(finding: Finding, workload: str, rules: Rules, today: date) -> Finding:
    if finding.rule not in {"output", "leak"} or finding.verdict is None:
        return finding
    waiver, note = _waiver(finding.rule, workload, None, rules, today)
    return replace(
        finding, message=finding.message + note, waiver=waiver, verdict=None if waiver else finding.verdict
    )


def _waiver(
    metric: str, workload: str, change: float | None, rules: Rules, today: date
) -> tuple[Waiver | None, str]:
    named = [w for w in rules.waivers if w.metric == metric and w.workload in {"", workload}]
    for waiver in named:
        if waiver.covers(metric, workload, change, today):
            return waiver, f"; waived until {waiver.expires}: {waiver.reason}"
    expired = [w.expires for w in named if w.expires < today]
    if expired:
        return None, f"; its waiver expired on {max(expired)}"
    return None, "; more than its waiver allows" if named else ""
