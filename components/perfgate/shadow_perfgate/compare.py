"""Compares sessions that were measured before: every workload of base with that of the candidate."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from shadow_perfgate import codec
from shadow_perfgate.config import Config
from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.verdict import Decision, Finding, Verdict, WorkloadDecision
from shadow_perfgate.decide.workload import decide_workload, over_gate
from shadow_perfgate.errors import InputError
from shadow_perfgate.model import Session


def compare(base: Path, candidate: Path, config: Config, today: date) -> Decision:
    """Compare the session files (or folders of them) at `base` and `candidate`."""
    old, new = (_by_workload(path, config) for path in (base, candidate))
    decided = [_one(name, old, new, config.rules_for(name), today) for name in {**old, **new}]
    return Decision(over_gate(decided, config.rules_for, today))


def _by_workload(path: Path, config: Config) -> dict[str, Session]:
    found: dict[str, Session] = {}
    for session in map(config.describe, codec.read_all(path)):
        name = session.workload.name
        if name in found:
            raise InputError(
                f"{path}: two sessions of workload {name!r}, expected one; remove one or rename a workload"
            )
        found[name] = session
    return found


def _one(
    name: str, old: dict[str, Session], new: dict[str, Session], rules: Rules, today: date
) -> WorkloadDecision:
    if name not in new:
        text = f"workload {name!r} is in base but not in the candidate; measure it, or remove it from base"
        return _finding(name, Finding("vanished", Verdict.INVALID, text))
    if name not in old:
        return _finding(name, Finding("new", None, f"workload {name!r} is new: base has nothing to compare"))
    return decide_workload(old[name], new[name], rules, today)


def _finding(workload: str, finding: Finding) -> WorkloadDecision:
    return WorkloadDecision(workload, finding.verdict or Verdict.PASS, findings=(finding,))


def ensure_compared(workloads: Sequence[WorkloadDecision]) -> None:
    """Raise `InputError` when nothing at all was compared: that is never a pass."""
    if not any(w.metrics or w.verdict is not Verdict.PASS for w in workloads):
        raise InputError(
            "0 metrics compared: base and candidate have no workload in common; "
            f"candidate has {', '.join(w.workload for w in workloads) or 'none'}"
        )
