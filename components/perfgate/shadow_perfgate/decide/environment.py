"""Stage 1 of fitness: whether the machine let both sides be measured fairly, and which runs count."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.verdict import Finding, Verdict
from shadow_perfgate.model import Run, Session

ENVIRONMENT = Verdict.ENVIRONMENT
MACHINE = frozenset(
    [
        *("gpu", "memory_mib", "mig", "power_limit_w", "ecc", "sm_clock_max_mhz"),
        *("sm_clock_set_mhz", "compute_mode"),
        *("driver", "cuda_driver", "cpu", "cores"),
    ]
)
"""Keys of a fingerprint that the change under test cannot move."""
ONE_SIDED = 3
"""Pairs in which only the candidate was throttled from which that is the candidate's own doing."""


def check(base: Session, candidate: Session, rules: Rules) -> tuple[Session, Session, list[Finding]]:
    """Return both sessions with only the runs that count, and what was found on the way."""
    findings = list(_faults(base, candidate))
    base, candidate, kept = _keep_own_throttling(base, candidate)
    old, new = _drop(base, candidate)
    findings += kept
    for side, before, after in (("base", base, old), ("candidate", candidate, new)):
        findings += _too_few(side, before, after, rules)
    return old, new, findings


def _faults(base: Session, candidate: Session) -> Iterable[Finding]:
    for side, session in (("base", base), ("candidate", candidate)):
        for fault in session.environment_faults:
            yield Finding("machine", ENVIRONMENT, f"{side}: {fault}")
    old, new = base.fingerprint.keys, candidate.fingerprint.keys
    if not old or not new:
        if old or new:
            yield Finding("fingerprint", None, "one side names no machine, so machines cannot be compared")
        return
    yield from _differing(old, new, interleaved=all(run.pair is not None for run in candidate.runs))


def _differing(old: Mapping[str, str], new: Mapping[str, str], *, interleaved: bool) -> Iterable[Finding]:
    keys = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    if not keys:
        return
    told = "; ".join(f"{k}: {old.get(k, '(none)')} -> {new.get(k, '(none)')}" for k in keys)
    if interleaved and not MACHINE & set(keys):
        # On one machine, in turn, another version of a library is part of the change under test.
        yield Finding("software", None, f"base and candidate use different software ({told})")
        return
    yield Finding(
        "fingerprint",
        ENVIRONMENT,
        f"base and candidate ran on different machines or software ({told}); measure both on the same runner",
    )


def _keep_own_throttling(base: Session, candidate: Session) -> tuple[Session, Session, list[Finding]]:
    """Count throttled runs after all when, pair after pair, only the candidate throttles: it is its doing."""
    clean = {run.pair for run in base.runs if run.pair is not None and not run.discarded}
    own = [r for r in candidate.runs if r.pair in clean and r.discarded.startswith("throttled")]
    base_throttled = any(run.discarded.startswith("throttled") for run in base.runs)
    if len(own) < ONE_SIDED or base_throttled:
        return base, candidate, []
    kept = tuple(replace(r, discarded="") if r in own else r for r in candidate.runs)
    message = (
        f"only the candidate was throttled, in {len(own)} pairs of alternating order; its runs are kept: "
        "it draws more power or heat than base"
    )
    return base, replace(candidate, runs=kept), [Finding("throttled", None, message)]


def _drop(base: Session, candidate: Session) -> tuple[Session, Session]:
    """Leave out discarded runs, with the other arm of their pair: what remains stays unbiased."""
    lost = {run.pair for session in (base, candidate) for run in session.runs if run.discarded}
    lost.discard(None)
    return _without(base, lost), _without(candidate, lost)


def _without(session: Session, lost: set[int | None]) -> Session:
    return replace(session, runs=tuple(r for r in session.runs if not r.discarded and r.pair not in lost))


def _too_few(side: str, before: Session, after: Session, rules: Rules) -> Iterable[Finding]:
    gone = [run for run in before.runs if run.discarded]
    if not gone:
        return
    text = f"{side}: {len(gone)} of {len(before.runs)} runs {_reasons(gone)}"
    if len(after.runs) >= rules.min_runs:
        yield Finding("throttled", None, f"{text}; left out, with the other run of their pair")
    else:
        yield Finding(
            "throttled",
            ENVIRONMENT,
            f"{text}; {len(after.runs)} < {rules.min_runs} valid runs; let the GPU cool, look at power and "
            "clocks, then measure again",
        )


def _reasons(runs: list[Run]) -> str:
    kinds = sorted({run.discarded.split(":")[0].strip() for run in runs})
    details = sorted({run.discarded for run in runs if ":" in run.discarded})
    return ", ".join(kinds) + (f" ({'; '.join(details)})" if details else "")
