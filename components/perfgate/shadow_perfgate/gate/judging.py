"""Whose perfgate.toml judges a change: the merge-base's, so that none can loosen what it is held to."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shadow_perfgate import scratch
from shadow_perfgate.baseline.git import content, tracked, within
from shadow_perfgate.config import Config, parse
from shadow_perfgate.decide.rules import Role, Threshold, default_threshold
from shadow_perfgate.errors import InputError
from shadow_perfgate.gate.base import known
from shadow_perfgate.gate.changed_rules import changed_rules
from shadow_perfgate.gate.place import folder_of
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


def judge(head: Config, repository: Path, base: str, wanted: str = "auto") -> Judged:
    """Return what judges `head`: by `wanted` (`base` or `head`), or as base's configuration says (`auto`).

    Without a base, or when base has no configuration, or one with faults, head's own holds.
    """
    place = within(repository, head.path) if base and known(repository, base) else ""
    text = content(repository, base, place) if place else None
    if text is None:
        return Judged(head)
    try:
        before = _read(text, head.path)
    except (InputError, ValueError) as error:
        why = str(error).splitlines()[0]
        return Judged(head, (f"judged by its own {head.path.name}: that of {base[:12]} is BROKEN: {why}",))
    if (before.rules_from if wanted == "auto" else wanted) == "head":
        return Judged(head, tuple(f"{change} in this change" for change in changed_rules(before, head)))
    plans, shared = _plans(before, repository, base)
    merged = _merged(before, head)
    return Judged(merged, (*_held(merged, head, base), *shared), before, tuple(plans))


def _read(text: bytes, path: Path) -> Config:
    """Return base's configuration; its prompts are another matter, which no change may repair by its own."""
    before = parse(tomllib.loads(text.decode()), path)
    plain = [
        {**table, "prompts": "decode-heavy"} if _own_prompts(table) else table for table in before.workloads
    ]
    plan_input.plans(plain, str(path), folder_of(path))
    return before


def _held(merged: Config, head: Config, base: str) -> Iterator[str]:
    moved = [f"{change}: not used here, it holds once merged" for change in changed_rules(merged, head)]
    if moved:
        yield f"judged by the {head.path.name} of the merge-base {base[:12]}, not by this change's own"
    yield from moved


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


def _plans(before: Config, repository: Path, base: str) -> tuple[list[Plan], list[str]]:
    """Return base's workloads with base's own prompts, and a notice for each prompts file it does not have.

    Fewer or other prompts would be another measurement.
    """
    folder, shared = folder_of(before.path), list[str]()
    with scratch.folder("prompts") as copies:
        tables = list[Mapping[str, object]]()
        for number, table in enumerate(before.workloads):
            name = _own_prompts(table)
            found = _prompts(repository, base, folder / name) if name else None
            if found is not None:
                copy = copies / f"{number}.jsonl"
                copy.write_bytes(found)
                tables.append({**table, "prompts": str(copy)})
                continue
            tables.append(table)
            if name:
                said = "are not under version control: base is measured with what is there"
                shared.append(f"prompts {name} of workload {_name(table)!r} {said}")
        return plan_input.plans(tables, f"{before.path} of {base[:12]}", folder), shared


def _own_prompts(table: Mapping[str, object]) -> str:
    name = table.get("prompts")
    return name if isinstance(name, str) and name not in prompts.STANDARD else ""


def _prompts(repository: Path, base: str, path: Path) -> bytes | None:
    """Return base's prompts, or None when they are not under version control, in the change neither."""
    place = within(repository, path)
    found = content(repository, base, place) if place else None
    if found is None and tracked(repository, place, within(repository, path.resolve())):
        raise InputError(
            f"{path}: prompts that the merge-base {base[:12]} lacks and this change brings; "
            "bring them under another name, with a workload of their own"
        )
    return found
