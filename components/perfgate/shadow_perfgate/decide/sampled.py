"""Noisy metrics: a large change that is also significant fails; a change that is surely small passes."""

from collections.abc import Sequence
from dataclasses import dataclass

from shadow_perfgate.decide.rules import Role
from shadow_perfgate.decide.samples import EPSILON, Samples
from shadow_perfgate.decide.shift import Shift, as_share, runs_needed
from shadow_perfgate.decide.verdict import MetricDecision, Verdict
from shadow_perfgate.text import percent, probability, quantity, share

_SUPPORTED = 1.2
"""Detectable change over limit up to which half the limit is blocked in at most 1 of 20 cases."""


@dataclass(frozen=True, slots=True)
class Look:
    """One try at a decision."""

    alpha: float
    """Share of the false-alarm rate that this look may use."""
    last: bool
    """Whether no more runs will come."""
    min_runs: int = 5


def holm(probabilities: Sequence[float]) -> list[float]:
    """Return p values adjusted for being several (Holm)."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    adjusted = [0.0] * len(probabilities)
    running = 0.0
    for rank, place in enumerate(order):
        running = max(running, min(1.0, probabilities[place] * (len(order) - rank)))
        adjusted[place] = running
    return adjusted


def decide(samples: Samples, found: Shift, p_holm: float, look: Look) -> MetricDecision:
    """Decide on one noisy metric from its shift; observed metrics never block."""
    verdict, why = _verdict(samples, found, p_holm, look)
    decided = verdict or Verdict.INCONCLUSIVE
    observed = samples.role is Role.OBSERVE
    return MetricDecision(
        spec=samples.spec,
        role=samples.role,
        verdict=Verdict.PASS if observed else decided,
        message=_observed(samples, found) if observed else f"{_change(samples, found, p_holm)}{why}",
        base=samples.base,
        candidate=samples.candidate,
        change=as_share(found.estimate),
        lower=as_share(found.lower),
        upper=as_share(found.upper),
        limit=samples.limit,
        p=found.p,
        p_holm=p_holm,
        mde=found.mde,
        open=not observed and verdict is None,
    )


def _verdict(samples: Samples, found: Shift, p_holm: float, look: Look) -> tuple[Verdict | None, str]:
    runs = min(found.n_base, found.n_candidate)
    if runs < look.min_runs:
        return _undecided(look, f"; n {runs} < {look.min_runs}, cannot test: measure more runs")
    noisy = found.sigma > samples.limit and not found.mde <= _SUPPORTED * samples.limit
    large = found.estimate > samples.tau
    # Before the last look only what is surely too slow fails: tries at "more than the limit" would add up.
    significant = look.last and large and p_holm < look.alpha and not noisy
    if found.lower > samples.tau or significant:
        return Verdict.FAIL, ""
    if found.upper < samples.tau - 2 * EPSILON:
        return Verdict.PASS, ""
    if noisy or large:
        reason = "too noisy for this limit" if noisy else "not significant"
        return _undecided(look, f"; {reason}: {_supportable(samples, found)}")
    upper = f"; cannot exclude {share(as_share(found.upper))}"
    return (Verdict.PASS if look.last else None), upper


def _undecided(look: Look, why: str) -> tuple[Verdict | None, str]:
    return (Verdict.INCONCLUSIVE if look.last else None), why


def _supportable(samples: Samples, found: Shift) -> str:
    needed = runs_needed(found.sigma, samples.limit)
    return (
        f"runs vary by {percent(found.sigma)}, so {percent(samples.limit)} needs about {needed} runs a side; "
        f"these runs support a limit of {percent(found.mde)}"
    )


def _change(samples: Samples, found: Shift, p_holm: float) -> str:
    old, new = samples.medians
    unit = samples.spec.unit
    relation = ">" if found.estimate > samples.tau else "<="
    allowed = old * (1 + samples.limit) if samples.sign > 0 else old / (1 + samples.limit)
    return (
        f"{share(as_share(found.estimate))} {relation} {percent(samples.limit)} "
        f"({quantity(old, unit)} -> {quantity(new, unit)}, limit {quantity(allowed, unit)}; "
        f"90 % interval {share(as_share(found.lower))} to {share(as_share(found.upper))}; "
        f"p {probability(p_holm)}; {_runs(found)}; detects {share(found.mde)})"
    )


def _runs(found: Shift) -> str:
    if found.paired:
        return f"{found.n_base} pairs"
    return (
        f"n {found.n_base}"
        if found.n_base == found.n_candidate
        else f"n {found.n_base} and {found.n_candidate}"
    )


def _observed(samples: Samples, found: Shift) -> str:
    why = f": {samples.requests} requests a run, {samples.spec.min_requests} needed to gate it"
    old, new = samples.medians
    return (
        f"{share(as_share(found.estimate))} "
        f"({quantity(old, samples.spec.unit)} -> {quantity(new, samples.spec.unit)}); "
        f"observe only{why if samples.too_few_requests else ''}"
    )
