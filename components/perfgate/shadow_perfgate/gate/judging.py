"""Whose perfgate.toml judges a change: the merge-base's, so that none can loosen what it is held to."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shadow_perfgate import scratch
from shadow_perfgate.baseline.git import git, line, within
from shadow_perfgate.config import Config, parse
from shadow_perfgate.decide.rules import Role, Threshold, default_threshold
from shadow_perfgate.errors import PerfgateError, StoreError
from shadow_perfgate.gate.changed_rules import changed_rules
from shadow_perfgate.measure import plan_input, prompts
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.metrics import CANONICAL


@dataclass(frozen=True, slots=True)
class Judged:
    """What decides about a change, and what its reviewers should know."""

    config: Config
    notices: tuple[str, ...] = ()
    before: Config | None = None
    """The merge-base's configuration when it judges."""
    plans: tuple[Plan, ...] = field(default=())
    """The merge-base's workloads when it judges."""


def judge(head: Config, repository: Path, base: str, wanted: str = "config") -> Judged:
    """Return what judges `head`: by `wanted` (`base` or `head`), or as base's configuration says (`config`).

    Without a base, or when base has no configuration that can be read, head's own holds.
    """
    text = _text(head, repository, base)
    if not text:
        return Judged(head)
    try:
        before = parse(tomllib.loads(text), head.path)
        plans = _plans(before, repository, base)
    except (PerfgateError, tomllib.TOMLDecodeError):
        return Judged(head, (f"judged by its own {head.path.name}: that of {base[:12]} cannot be read",))
    if (before.rules_from if wanted == "config" else wanted) == "head":
        return Judged(head, tuple(f"{change} in this change" for change in changed_rules(before, head)))
    merged = _merged(before, head)
    return Judged(merged, tuple(_held(merged, head, base)), before, tuple(plans))


def _held(merged: Config, head: Config, base: str) -> Iterator[str]:
    moved = [f"{change}: not used here, it holds once merged" for change in changed_rules(merged, head)]
    if moved:
        yield f"judged by the {head.path.name} of the merge-base {base[:12]}, not by this change's own"
    yield from moved


def _text(head: Config, repository: Path, base: str) -> str:
    path = within(repository, head.path)
    return line(repository, "show", f"{base}:{path}") if base and path else ""


def _merged(before: Config, head: Config) -> Config:
    known = {_name(table) for table in before.workloads}
    new = tuple(table for table in head.workloads if _name(table) not in known)
    own = {name: limit for name, limit in head.rules.thresholds.items() if _is_new(name, before)}
    return replace(
        before,
        path=head.path,
        prepare=head.prepare,
        workloads=(*before.workloads, *new),
        specs={**head.specs, **before.specs},
        rules=replace(before.rules, thresholds={**own, **before.rules.thresholds}),
        added={_name(table): head.rules for table in new},
    )


def _name(table: Mapping[str, object]) -> str:
    return str(table.get("name", ""))


def _is_new(name: str, before: Config) -> bool:
    """Tell whether base says nothing of a metric: neither by name nor by a default that can block."""
    stem = name.rsplit("/", 1)[-1]
    said = {known.rsplit("/", 1)[-1] for known in before.rules.thresholds}
    usual: Threshold | None = default_threshold(CANONICAL[stem]) if stem in CANONICAL else None
    return stem not in said | before.specs.keys() and (usual is None or usual.role is Role.OBSERVE)


def _plans(before: Config, repository: Path, base: str) -> list[Plan]:
    """Return base's workloads with base's own prompts: fewer or other ones would be another measurement."""
    folder = before.path.resolve().parent
    with scratch.folder("prompts") as place:
        tables = [_with_prompts(table, repository, base, folder, place) for table in before.workloads]
        return plan_input.plans(tables, f"{before.path} of {base[:12]}", folder)


def _with_prompts(
    table: Mapping[str, object], repository: Path, base: str, folder: Path, copies: Path
) -> Mapping[str, object]:
    name = table.get("prompts")
    where = (
        within(repository, folder / name) if isinstance(name, str) and name not in prompts.STANDARD else ""
    )
    if not where:
        return table
    try:
        content = git(repository, "show", f"{base}:{where}")
    except StoreError:
        # Not under version control: both arms share the one that is there.
        return table
    copy = copies / f"{len(list(copies.iterdir()))}.jsonl"
    copy.write_bytes(content)
    return {**table, "prompts": str(copy)}
