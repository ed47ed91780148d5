"""Stage 2: pairs of base and candidate on this machine, looked at a few times, until a decision stands."""

from dataclasses import dataclass, field, replace
from datetime import date

from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.sampled import Look
from shadow_perfgate.decide.shift import cv
from shadow_perfgate.decide.verdict import Finding, Verdict, WorkloadDecision
from shadow_perfgate.decide.workload import decide_workload
from shadow_perfgate.errors import EnvironmentFaultError
from shadow_perfgate.gate.attempts import Attempt, Attempts, Earlier
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Measurer, Progress

_MACHINE = frozenset({"machine", "fingerprint"})
_MEASURED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE})
"""Verdicts of pairs that say something about the change."""


@dataclass(slots=True)
class _Pairs:
    """The pairs of one attempt, beside those of earlier ones."""

    attempts: Attempts | None
    attempt: Attempt = field(default_factory=Attempt)
    base: Session | None = None
    candidate: Session | None = None
    earlier: Earlier | None = None
    unkept: tuple[Session, Session] | None = None
    refused: Finding | None = None

    def add(self, base: Session, candidate: Session) -> tuple[Session, Session]:
        """Add newly measured pairs and return all that count."""
        if self.base is None and self.attempts is not None:
            self.earlier = self.attempts.earlier(candidate)
        self.base, self.candidate = joined(self.base, base), joined(self.candidate, candidate)
        first, second = self.unkept or (None, None)
        self.unkept = joined(first, base), joined(second, candidate)
        if self.earlier is None:
            return self.base, self.candidate
        return self.earlier.with_new(self.base, self.candidate)

    @property
    def spent(self) -> int:
        """Return what alpha is divided by: it halves with each retry, so all get less than twice it."""
        return 1 if self.earlier is None else 2**self.earlier.count

    def keep(self, verdict: Verdict) -> None:
        """Keep what is new for a retry: a job may be ended before the next look."""
        if self.attempts is not None and self.unkept is not None and verdict in _MEASURED:
            self.refused = self.attempts.keep(*self.unkept, self.attempt)
            self.unkept = self.unkept if self.refused else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what to say of attempts."""
        found = [] if self.earlier is None else self.earlier.findings
        return (*found, *([] if self.refused is None else [self.refused]))


def decide_interleaved(
    name: str,
    measurer: Measurer,
    rules: Rules,
    today: date,
    progress: Progress,
    attempts: Attempts | None = None,
) -> WorkloadDecision:
    """Measure pairs until decided; an unfit machine is tried once more, then it is the verdict."""
    first = _try(name, measurer, rules, today, progress, attempts)
    unfit = first.verdict is Verdict.ENVIRONMENT and any(f.rule in _MACHINE for f in first.findings)
    return _try(name, measurer, rules, today, progress, attempts) if unfit else first


def _try(
    name: str,
    measurer: Measurer,
    rules: Rules,
    today: date,
    progress: Progress,
    attempts: Attempts | None,
) -> WorkloadDecision:
    pairs = _Pairs(attempts)
    try:
        decision = _looks(measurer, rules, today, progress, pairs)
    except EnvironmentFaultError as error:
        faults = tuple(Finding("machine", Verdict.ENVIRONMENT, fault) for fault in error.faults)
        return WorkloadDecision(name, Verdict.ENVIRONMENT, findings=faults, stage="interleaved")
    return replace(decision, findings=(*decision.findings, *pairs.findings))


def _looks(
    measurer: Measurer, rules: Rules, today: date, progress: Progress, pairs: _Pairs
) -> WorkloadDecision:
    looks, done = list(rules.looks), 0
    alpha = rules.alpha / max(len(rules.looks), len(rules.noisy_looks))
    while True:
        number = looks.index(done) + 1 if done else 0
        target = looks[number]
        base, candidate = pairs.add(*measurer.pairs(done, target, progress))
        last = number == len(looks) - 1
        look = Look(alpha / pairs.spent, last=last, min_runs=rules.min_runs)
        decision = decide_workload(base, candidate, rules, today, look)
        pairs.keep(decision.verdict)
        if last or _settled(decision):
            return replace(decision, stage="interleaved", looks=tuple(looks[: number + 1]))
        if number == 0 and _noise(decision) > rules.noisy_from:
            looks[1:] = [later for later in rules.noisy_looks[1:] if later > target] or looks[1:]
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
