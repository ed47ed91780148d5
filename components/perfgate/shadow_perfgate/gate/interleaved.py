"""Stage 2: pairs of base and candidate on this machine, looked at a few times, until a decision stands."""

from dataclasses import replace
from datetime import date

from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.sampled import Look
from shadow_perfgate.decide.shift import cv
from shadow_perfgate.decide.verdict import Finding, Verdict, WorkloadDecision
from shadow_perfgate.decide.workload import decide_workload
from shadow_perfgate.errors import EnvironmentFaultError
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Measurer, Progress

_MACHINE = frozenset({"machine", "fingerprint"})


def decide_interleaved(
    name: str, measurer: Measurer, rules: Rules, today: date, progress: Progress
) -> WorkloadDecision:
    """Measure pairs until decided; an unfit machine is tried once more, then it is the verdict."""
    first = _try(name, measurer, rules, today, progress)
    unfit = first.verdict is Verdict.ENVIRONMENT and any(f.rule in _MACHINE for f in first.findings)
    return _try(name, measurer, rules, today, progress) if unfit else first


def _try(name: str, measurer: Measurer, rules: Rules, today: date, progress: Progress) -> WorkloadDecision:
    try:
        return _looks(measurer, rules, today, progress)
    except EnvironmentFaultError as error:
        faults = tuple(Finding("machine", Verdict.ENVIRONMENT, fault) for fault in error.faults)
        return WorkloadDecision(name, Verdict.ENVIRONMENT, findings=faults, stage="interleaved")


def _looks(measurer: Measurer, rules: Rules, today: date, progress: Progress) -> WorkloadDecision:
    looks, done = list(rules.looks), 0
    alpha = rules.alpha / max(len(rules.looks), len(rules.noisy_looks))
    base: Session | None = None
    candidate: Session | None = None
    while True:
        number = looks.index(done) + 1 if done else 0
        target = looks[number]
        left, right = measurer.pairs(done, target, progress)
        base, candidate = joined(base, left), joined(candidate, right)
        last = number == len(looks) - 1
        look = Look(alpha, last=last, min_runs=rules.min_runs)
        decision = decide_workload(base, candidate, rules, today, look)
        if last or _settled(decision):
            return replace(decision, stage="interleaved", looks=tuple(looks[: number + 1]))
        if number == 0 and _noise(decision) > rules.noisy_from:
            looks[1:] = [pairs for pairs in rules.noisy_looks[1:] if pairs > target] or looks[1:]
        done = target


def joined(earlier: Session | None, later: Session) -> Session:
    """Return one session with the runs of both."""
    if earlier is None:
        return later
    return replace(
        earlier,
        runs=(*earlier.runs, *later.runs),
        environment_faults=tuple(dict.fromkeys((*earlier.environment_faults, *later.environment_faults))),
        notes=tuple(dict.fromkeys((*earlier.notes, *later.notes))),
    )


def _settled(decision: WorkloadDecision) -> bool:
    said = {finding.verdict for finding in decision.findings}
    throttled = any(f.rule == "throttled" and f.verdict is Verdict.ENVIRONMENT for f in decision.findings)
    if throttled:
        # More pairs may still give enough valid ones.
        return False
    if said & {Verdict.INVALID, Verdict.ENVIRONMENT, Verdict.FAIL}:
        return True
    failed = any(metric.verdict in {Verdict.FAIL, Verdict.INVALID} for metric in decision.metrics)
    return failed or not any(metric.open for metric in decision.metrics)


def _noise(decision: WorkloadDecision) -> float:
    spreads = [
        cv(values)
        for metric in decision.metrics
        if metric.gated and metric.p is not None
        for values in (metric.base, metric.candidate)
    ]
    return max(spreads, default=0.0)
