"""What a decision says, and the exit code that goes with it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from shadow_perfgate.decide.rules import Role, Waiver
from shadow_perfgate.model import MetricSpec, Session


class Verdict(StrEnum):
    """The gate's answer; `exit_code` is what the process ends with."""

    PASS = "pass"  # noqa: S105 - a verdict
    INCONCLUSIVE = "inconclusive"
    ENVIRONMENT = "environment"
    FAIL = "fail"
    INVALID = "invalid"

    @property
    def exit_code(self) -> int:
        """Return 0 pass, 1 regression, 2 invalid input, 3 inconclusive or unfit machine."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Verdict.PASS: 0,
    Verdict.FAIL: 1,
    Verdict.INVALID: 2,
    Verdict.INCONCLUSIVE: 3,
    Verdict.ENVIRONMENT: 3,
}
_SEVERITY = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.ENVIRONMENT, Verdict.FAIL, Verdict.INVALID)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the most severe verdict; pass when there is none."""
    return max(verdicts, key=_SEVERITY.index, default=Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something beside a metric's change that decides or should be known."""

    rule: str
    """`vanished`, `new`, `output`, `work`, `fingerprint`, `throttled`, `leak`, `no-baseline`, …"""
    verdict: Verdict | None
    """None for a notice."""
    message: str
    waiver: Waiver | None = None


@dataclass(frozen=True, slots=True)
class MetricDecision:
    """One metric of one workload: what was measured, what it is held to, what follows."""

    spec: MetricSpec
    role: Role
    verdict: Verdict
    message: str
    base: tuple[float, ...] = ()
    """Value of each counted run, in the metric's unit."""
    candidate: tuple[float, ...] = ()
    change: float | None = None
    """Share by which the candidate is worse (negative: better)."""
    lower: float | None = None
    """One-sided 95 % bounds of the change."""
    upper: float | None = None
    limit: float = 0.0
    """Share that is still allowed, after the floor."""
    p: float | None = None
    p_holm: float | None = None
    mde: float | None = None
    """Change that would be detected with 95 % power."""
    waiver: Waiver | None = None
    open: bool = False
    """More runs may still decide it."""

    @property
    def gated(self) -> bool:
        """Tell whether this metric can block."""
        return self.role is Role.GATE


@dataclass(frozen=True, slots=True)
class WorkloadDecision:
    """The verdict on one workload and all that led to it."""

    workload: str
    verdict: Verdict
    metrics: tuple[MetricDecision, ...] = ()
    findings: tuple[Finding, ...] = ()
    stage: str = "compare"
    """`stored` (against the baseline), `interleaved` (pairs, this machine) or `compare` (given sessions)."""
    looks: tuple[int, ...] = ()
    """Pairs after which a decision was tried."""
    base: Session | None = None
    candidate: Session | None = None
    alpha: float | None = None
    """False-alarm rate that the last look's tests were held to; None where more looks could have come."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's answer over all workloads."""

    workloads: tuple[WorkloadDecision, ...]
    notices: tuple[str, ...] = ()
    key: str = ""
    """Tells the comments of several gates on one merge request apart."""

    @property
    def verdict(self) -> Verdict:
        """Return the most severe verdict of the workloads."""
        return worst(workload.verdict for workload in self.workloads)

    @property
    def gated(self) -> tuple[MetricDecision, ...]:
        """Return the metrics that could block, of all workloads."""
        return tuple(m for w in self.workloads for m in w.metrics if m.gated)
