"""Stage 1: a few runs of the candidate against stored sessions of main. It may pass, it never blocks.

Stored sessions were measured on other days, so the spread between sessions is part of the uncertainty; with
few sessions it is itself uncertain, which Student's t accounts for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from math import inf, log, sqrt
from statistics import fmean, median, stdev

from shadow_perfgate.decide import environment, exact, validity
from shadow_perfgate.decide.rules import Role, Rules
from shadow_perfgate.decide.samples import Samples, collect
from shadow_perfgate.decide.shift import as_share
from shadow_perfgate.decide.student import t_quantile
from shadow_perfgate.decide.verdict import Finding, MetricDecision, Verdict, WorkloadDecision
from shadow_perfgate.decide.workload import leaks
from shadow_perfgate.model import Session
from shadow_perfgate.text import percent, quantity, share

LEAST_SESSIONS = 3
"""Sessions below which the spread between sessions is not known well enough to pass on."""
MOST_PASSES = 0.05
"""Chance of passing a candidate that is worse by just the limit."""


def decide_stored(
    baseline: Sequence[Session], candidate: Session, rules: Rules, today: date
) -> WorkloadDecision:
    """Return pass, or inconclusive when interleaved pairs have to decide; never fail."""
    del today
    name = candidate.workload.name
    newest = baseline[-1]
    findings = validity.check(newest, candidate, rules)
    lenient = replace(rules, min_runs=1)
    _, fit, more = environment.check(newest, candidate, lenient)
    findings += [*more, *leaks(newest, candidate, rules)]
    if any(finding.verdict is not None for finding in findings):
        return WorkloadDecision(
            name, Verdict.INCONCLUSIVE, (), tuple(findings), "stored", (), newest, candidate
        )
    metrics = tuple(_decisions(baseline, fit, rules))
    passed = all(metric.verdict is Verdict.PASS for metric in metrics) and any(m.gated for m in metrics)
    verdict = Verdict.PASS if passed else Verdict.INCONCLUSIVE
    if not any(metric.gated for metric in metrics):
        findings.append(Finding("nothing", None, "no gated metric is in the stored baseline"))
    return WorkloadDecision(name, verdict, metrics, tuple(findings), "stored", (), newest, candidate)


def _decisions(baseline: Sequence[Session], candidate: Session, rules: Rules) -> Iterator[MetricDecision]:
    usable = [session for session in baseline if session.counted]
    by_session = [{s.spec.name: s for s in collect(_counted(one), candidate, rules)} for one in usable]
    for name in by_session[-1] if by_session else ():
        found = [samples[name] for samples in by_session if name in samples]
        yield _exact(found) if all(map(exact.applies, found)) else _noisy(found)


def _counted(session: Session) -> Session:
    return replace(session, runs=session.counted)


def _exact(found: list[Samples]) -> MetricDecision:
    decided = exact.decide(found[-1])
    return decided if decided.verdict is Verdict.PASS else replace(decided, verdict=Verdict.INCONCLUSIVE)


def _noisy(found: list[Samples]) -> MetricDecision:
    newest = found[-1]
    typical = [fmean(map(log, samples.base)) for samples in found]
    change, error = _change(typical, newest)
    upper = change + error
    passed = upper < newest.tau
    text = (
        f"{share(as_share(change))} ({quantity(median(newest.base), newest.spec.unit)} -> "
        f"{quantity(median(newest.candidate), newest.spec.unit)}), at most {share(as_share(upper))} "
        f"against {len(found)} stored sessions; limit {percent(newest.limit)}"
    )
    wanted = "" if passed else "; interleaved pairs have to decide"
    observed = newest.role is Role.OBSERVE
    return MetricDecision(
        spec=newest.spec,
        role=newest.role,
        verdict=Verdict.PASS if passed or observed else Verdict.INCONCLUSIVE,
        message=f"{text}; observe only" if observed else text + wanted,
        base=newest.base,
        candidate=newest.candidate,
        change=as_share(change),
        lower=as_share(change - error),
        upper=as_share(upper),
        limit=newest.limit,
        p=1.0,
        mde=as_share(error),
    )


def _change(typical: Sequence[float], newest: Samples) -> tuple[float, float]:
    """Return the shift on the log scale and the one-sided 95 % error of it."""
    values = [log(value) for value in newest.candidate]
    change = newest.sign * (fmean(values) - fmean(typical))
    if len(typical) < LEAST_SESSIONS:
        return change, inf
    between = stdev(typical) ** 2 * (1 + 1 / len(typical))
    within = stdev(values) ** 2 / len(values) if len(values) > 1 else 0.0
    return change, t_quantile(1 - MOST_PASSES, len(typical) - 1) * sqrt(between + within)
