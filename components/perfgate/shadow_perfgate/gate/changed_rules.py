"""Tells which rules a change moves: limits, waivers, ways of measuring; a reviewer should see it."""

from collections.abc import Iterator
from typing import cast

from shadow_perfgate.config import Config
from shadow_perfgate.decide.rules import LeakRule, Rules, Threshold, Waiver
from shadow_perfgate.model import MetricSpec
from shadow_perfgate.text import percent

_SETTINGS = (
    *("project", "main", "rules_from", "missing_baseline", "stored_runs"),
    *("store", "store_options", "prepare"),
)


def changed_rules(before: Config, after: Config) -> list[str]:
    """Return a line for each limit, floor, role, waiver or setting in which `after` differs."""
    return [
        *_changes(before.rules, after.rules),
        *_settings(before, after),
        *_workloads(before, after),
    ]


def _changes(before: Rules, after: Rules) -> Iterator[str]:
    for name in sorted({*before.thresholds, *after.thresholds}):
        old, new = before.thresholds.get(name), after.thresholds.get(name)
        if old != new:
            yield f"limit of {name} moved: {_said(old)} -> {_said(new)}"
    for waiver in after.waivers:
        if waiver not in before.waivers:
            yield f"waiver added: {_waived(waiver)}"
    for waiver in before.waivers:
        if waiver not in after.waivers:
            yield f"waiver removed: {_waived(waiver)}"
    if before.check_output and not after.check_output:
        yield "the output check was switched off"


def _settings(before: Config, after: Config) -> Iterator[str]:
    """Yield what else decides whether the gate blocks: a change could switch it off by any of these."""
    for name in ("alpha", "looks", "noisy_looks", "min_runs", "leak", "aliases"):
        old, new = getattr(before.rules, name), getattr(after.rules, name)
        if old != new:
            yield f"{name} moved: {_plain(old)} -> {_plain(new)}"
    for name in sorted(before.specs.keys() & after.specs.keys()):
        if before.specs[name] != after.specs[name]:
            yield f"meaning of {name} moved: {_meant(before.specs[name])} -> {_meant(after.specs[name])}"
    for name in _SETTINGS:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield f"{name} moved: {_plain(old)} -> {_plain(new)}"


def _plain(value: object) -> str:
    if isinstance(value, LeakRule):
        return f"{value.role} above {value.floor:g} MiB after {value.min_points} batches"
    return str(list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value)


def _meant(spec: MetricSpec) -> str:
    return f"{spec.unit}, {spec.direction} is better, {spec.kind}, definition {spec.definition}"


def _workloads(before: Config, after: Config) -> Iterator[str]:
    old, new = ({str(t.get("name", "")): t for t in config.workloads} for config in (before, after))
    for name, table in old.items():
        if name not in new:
            yield f"workload {name!r} is no longer measured: removed"
        elif table != new[name]:
            keys = [key for key in sorted({*table, *new[name]}) if table.get(key) != new[name].get(key)]
            yield f"workload {name!r} is measured in another way: {', '.join(keys)} moved"


def _said(threshold: Threshold | None) -> str:
    if threshold is None:
        return "default"
    floor = f", floor {threshold.floor:g}" if threshold.floor else ""
    return f"{threshold.role} {percent(threshold.limit)}{floor}"


def _waived(waiver: Waiver) -> str:
    up_to = f" up to {percent(waiver.up_to)}" if waiver.up_to is not None else ""
    return f"{waiver.metric}{up_to} until {waiver.expires} ({waiver.reason})"
