"""Stage 0: whether two sessions may be compared at all. What fails here is never a pass."""

from collections.abc import Callable, Iterable

from shadow_perfgate.decide.rules import Role, Rules
from shadow_perfgate.decide.verdict import Finding, Verdict
from shadow_perfgate.model import Kind, MetricSpec, Session
from shadow_perfgate.units import convertible

INVALID = Verdict.INVALID
_AS_OFTEN = 2
"""Times as many runs without a metric as base's that may still be the machine's doing."""


def check(base: Session, candidate: Session, rules: Rules) -> list[Finding]:
    """Return every reason why the sessions cannot be compared, and notices."""
    checks: tuple[Callable[[Session, Session, Rules], Iterable[Finding]], ...] = (
        _same_work,
        _same_metrics,
        _in_every_run,
        _values,
        _same_output,
    )
    return [finding for one in checks for finding in one(base, candidate, rules)]


def _same_work(base: Session, candidate: Session, rules: Rules) -> Iterable[Finding]:
    del rules
    old, new = base.workload, candidate.workload
    pairs = [
        ("dataset_sha256", old.dataset_sha256, new.dataset_sha256),
        ("prompts", old.prompts, new.prompts),
        ("output_tokens", old.output_tokens, new.output_tokens),
        ("seed", old.seed, new.seed),
        ("engine", old.engine, new.engine),
    ]
    keys = dict.fromkeys([*old.arguments, *new.arguments])
    pairs += [
        (f"arguments.{k}", old.arguments.get(k, "(none)"), new.arguments.get(k, "(none)")) for k in keys
    ]
    pairs += _requests(base, candidate)
    differing = [f"{name}: {a} -> {b}" for name, a, b in pairs if a != b]
    if differing:
        yield Finding(
            "work",
            INVALID,
            f"base and candidate did not do the same work ({'; '.join(differing)}); measure both with one "
            "workload, or give the changed one a new name",
        )


def _requests(base: Session, candidate: Session) -> list[tuple[str, str, str]]:
    """Return how many requests runs served, when base's runs agree: those that run for a time do not."""
    old, new = ({run.requests for run in session.counted} for session in (base, candidate))
    # What another tool reports is what was answered in its time, and only its percentiles need a number.
    if len(old) != 1 or old == {0} or not new or candidate.workload.engine.startswith("import:"):
        return []
    first, second = (", ".join(map(str, sorted(numbers))) for numbers in (old, new))
    return [("requests of a run", first, second)]


def _same_metrics(base: Session, candidate: Session, rules: Rules) -> Iterable[Finding]:
    workload = candidate.workload.name
    old, new = specs(base, rules), specs(candidate, rules)
    for name in sorted(old.keys() - new.keys()):
        gated = _is_gated(old[name], workload, rules)
        yield Finding(
            "vanished",
            INVALID if gated else None,
            f"{name} is in base but not in the candidate; measure it again, or name its new name under "
            "[aliases] in perfgate.toml",
        )
    for name in sorted(new.keys() - old.keys()):
        yield Finding("new", None, f"{name} is new: nothing in base to compare it with")
    for name in sorted(old.keys() & new.keys()):
        yield from _same_meaning(old[name], new[name])
    if not old.keys() & new.keys():
        yield Finding("nothing", INVALID, "0 metrics compared: base and candidate have none in common")


def _same_meaning(old: MetricSpec, new: MetricSpec) -> Iterable[Finding]:
    differing: list[str] = []
    if old.definition != new.definition:
        differing.append(f"definition {old.definition} -> {new.definition}")
    if old.direction != new.direction:
        differing.append(f"direction {old.direction} -> {new.direction}")
    if old.kind != new.kind:
        differing.append(f"kind {old.kind} -> {new.kind}")
    if not convertible(new.unit, old.unit):
        differing.append(f"unit {old.unit} -> {new.unit}")
    if differing:
        yield Finding(
            "meaning",
            INVALID,
            f"{new.name} means something else in the candidate ({', '.join(differing)}); "
            "measure both sides with the same tool, or rename the metric",
        )


def _in_every_run(base: Session, candidate: Session, rules: Rules) -> Iterable[Finding]:
    """Yield the metrics that only some runs tell: the others may be just those that went badly."""
    lacking = {side: _lacking(s, rules) for side, s in (("base", base), ("candidate", candidate))}
    described = specs(candidate, rules)
    for side, session in (("base", base), ("candidate", candidate)):
        for name, runs in sorted(lacking[side].items()):
            gated = name in described and _is_gated(described[name], candidate.workload.name, rules)
            blocks = gated and side == "candidate" and runs > _AS_OFTEN * lacking["base"].get(name, 0)
            text = f"{name} is missing from {runs} of the {side}'s {len(session.counted)} runs"
            remedy = "; have each run tell it, or fail" if gated else ""
            yield Finding("missing", INVALID if blocks else None, f"{text}{remedy}")


def _lacking(session: Session, rules: Rules) -> dict[str, int]:
    """Return the metrics that some of a session's runs have, and how many have not."""
    names = {spec.name: rules.aliases.get(spec.name, spec.name) for spec in session.metrics}
    have = {now: sum(old in run.metrics for run in session.counted) for old, now in names.items()}
    of = len(session.counted)
    return {name: of - count for name, count in have.items() if 0 < count < of}


def _is_gated(spec: MetricSpec, workload: str, rules: Rules) -> bool:
    return rules.threshold(spec, workload).role is Role.GATE


def _values(base: Session, candidate: Session, rules: Rules) -> Iterable[Finding]:
    workload = candidate.workload.name
    for side, session in (("base", base), ("candidate", candidate)):
        if not session.runs:
            yield Finding("empty", INVALID, f"{side} has no runs; expected at least one")
        found = {spec.name: spec for spec in session.metrics}
        for place, run in enumerate(session.runs):
            for name, value in run.metrics.items():
                gated = _is_gated(found[name], workload, rules)
                yield from _value(f"{side}: runs[{place}].metrics.{name}", found[name], value, gated=gated)


def _value(where: str, spec: MetricSpec, value: float, *, gated: bool) -> Iterable[Finding]:
    if value - value != 0:
        yield Finding("value", INVALID, f"{where}: got {value}, expected a finite number")
    elif value < 0 or (value == 0 and spec.kind is Kind.SAMPLED):
        remedy = "a zero says that nothing was measured; drop the run and say why in `discarded`"
        least = "above 0" if spec.kind is Kind.SAMPLED else "0 or more"
        text = f"{where}: got {value:g} {spec.unit}, expected a value {least}"
        if gated:
            yield Finding("value", INVALID, f"{text}; {remedy}")
        elif spec.kind is not Kind.SAMPLED or value < 0:
            yield Finding("odd", None, f"{text}; the metric is only observed and was left out")


def _same_output(base: Session, candidate: Session, rules: Rules) -> Iterable[Finding]:
    old, new = ({run.output_digest for run in session.counted} for session in (base, candidate))
    if not rules.check_output or not any(old):
        return
    if len(old) > 1:
        message = f"base gave {len(old)} different outputs, so outputs cannot be compared byte by byte"
        yield Finding("output", None, f"{message}; gate a quality metric instead")
    elif new and new != old:
        yield Finding(
            "output",
            INVALID,
            f"the candidate's output differs from base ({_short(old)} -> {_short(new)}): a faster wrong "
            "answer is no win; if the new output is right, waive `output` in perfgate.toml with a reason",
        )


def _short(digests: set[str]) -> str:
    return ", ".join(sorted(digest[:12] or "none told, or not the same twice" for digest in digests))


def specs(session: Session, rules: Rules) -> dict[str, MetricSpec]:
    """Return the meaning of each metric that the session's runs have, under its present name."""
    used = {name for run in session.runs for name in run.metrics}
    return {rules.aliases.get(s.name, s.name): s for s in session.metrics if s.name in used}
