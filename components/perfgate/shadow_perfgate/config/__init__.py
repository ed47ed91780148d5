"""perfgate.toml: read strictly, every fault named at once, into values the gate decides and measures by."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shadow_perfgate.decide.rules import LeakRule, Role, Rules, Threshold, Waiver, default_threshold
from shadow_perfgate.errors import Faults, InputError
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Direction, Kind, MetricSpec, Session

if TYPE_CHECKING:
    from shadow_perfgate.config.schema import File, MetricTable

NAME = "perfgate.toml"


@dataclass(frozen=True, slots=True)
class Config:
    """What one perfgate.toml says."""

    path: Path
    rules: Rules = field(default_factory=Rules)
    project: str = ""
    main: str = "main"
    """Branch whose sessions are the baseline."""
    stored_runs: int = 4
    """Runs of the candidate that are compared with the stored baseline; 0 leaves that stage out."""
    missing_baseline: str = "warn"
    """`warn`, `fail` or `bootstrap`: what it means that the store has nothing to compare with."""
    rules_from: str = "base"
    """`base` or `head`: whose perfgate.toml judges a change; what the merge-base's says counts."""
    store: str = "folder:.perfgate"
    store_options: Mapping[str, str] = field(default_factory=dict[str, str])
    prepare: tuple[tuple[str, ...], ...] = ()
    """Commands that make a checkout ready, run in both."""
    workloads: tuple[Mapping[str, object], ...] = ()
    """Tables of `[[workload]]`, checked by `shadow_perfgate.measure.plan_input`."""
    specs: Mapping[str, MetricSpec] = field(default_factory=dict[str, MetricSpec])
    """Metrics of the user's own."""
    added: Mapping[str, Rules] = field(default_factory=dict[str, Rules])
    """Rules of workloads that only the change under test has, where the merge-base's file judges the rest."""

    def rules_for(self, workload: str) -> Rules:
        """Return the rules that a workload is judged by."""
        return self.added.get(workload, self.rules)

    def describe(self, session: Session) -> Session:
        """Return `session` with the meaning that perfgate.toml gives to the user's own metrics."""
        return replace(session, metrics=tuple(self.specs.get(spec.name, spec) for spec in session.metrics))

    def labelled(self, session: Session) -> Session:
        """Return `session` described, and with this project's name when it has none."""
        return replace(self.describe(session), project=self.project or session.project)


def load(path: Path | None) -> Config:
    """Read `path`, or perfgate.toml in the current folder if there; without either, the defaults hold."""
    place = path or Path(NAME)
    if path is None and not place.exists():
        return Config(place)
    try:
        table = tomllib.loads(place.read_bytes().decode())
    except OSError as error:
        raise InputError(
            f"{place}: unreadable ({error.strerror}); `shadow-perfgate init` writes one"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: byte {error.start} is not UTF-8; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{place}: {error}; expected TOML") from None
    return parse(table, place)


def parse(table: Mapping[str, object], place: Path) -> Config:
    """Return the configuration in `table`; raise `InputError` naming every fault."""
    from shadow_perfgate.config import schema  # noqa: PLC0415 - pydantic is slow to import

    file = schema.validate(table, str(place))
    faults = Faults(str(place))
    specs = {n: _spec(n, t, faults) for n, t in file.metrics.items() if t.unit or t.direction}
    rules = Rules(
        alpha=file.gate.alpha,
        looks=tuple(file.gate.looks),
        noisy_looks=tuple(file.gate.noisy_looks),
        min_runs=file.gate.min_runs,
        thresholds={name: _threshold(name, t, specs, faults) for name, t in file.metrics.items()},
        waivers=tuple(_waiver(place, w, faults) for place, w in enumerate(file.waiver)),
        aliases=file.aliases,
        leak=_leak(file, faults),
        check_output=file.gate.check_output,
    )
    faults.raise_if_any()
    return Config(
        path=place,
        rules=rules,
        project=file.project,
        main=file.gate.main,
        stored_runs=file.gate.stored_runs,
        missing_baseline=file.gate.missing_baseline,
        rules_from=file.gate.rules_from,
        store=file.store.url,
        store_options=file.store.options(),
        prepare=tuple(map(tuple, file.prepare)),
        workloads=tuple(file.workload),
        specs=specs,
    )


def _spec(name: str, table: "MetricTable", faults: Faults) -> MetricSpec:
    if name in CANONICAL:
        known = CANONICAL[name]
        faults.add(
            f"metrics.{name}",
            {"unit": table.unit, "direction": table.direction},
            f"no unit and direction: {name} is canonical ({known.unit}, {known.direction} is better)",
            "remove them, or give your metric a name of its own",
        )
    if not (table.unit and table.direction):
        faults.add(
            f"metrics.{name}", table.unit or table.direction, "both unit and direction", "add the other one"
        )
    direction = Direction(table.direction or "lower")
    return MetricSpec(name, table.unit, direction, Kind(table.kind), table.definition, title=table.title)


def _threshold(name: str, table: "MetricTable", specs: Mapping[str, MetricSpec], faults: Faults) -> Threshold:
    stem = name.rsplit("/", 1)[-1]
    spec = specs.get(stem) or CANONICAL.get(stem)
    if spec is None:
        faults.add(
            f"metrics.{name}",
            stem,
            "a canonical metric (`shadow-perfgate metrics` lists them) or one with unit and direction",
            "correct the name, or say what the metric is",
        )
        return Threshold(Role.OBSERVE, 0.05)
    default = default_threshold(spec)
    role = Role(table.role) if table.role else Role.GATE
    floor = (
        default.floor
        if table.floor is None
        else _floor(f"metrics.{name}.floor", table.floor, spec.unit, faults)
    )
    return Threshold(role, default.limit if table.limit is None else table.limit, floor)


def _floor(where: str, text: str, unit: str, faults: Faults) -> float:
    from shadow_perfgate.config.schema import parse_quantity  # noqa: PLC0415 - see parse

    value = parse_quantity(text, unit)
    if value is None:
        faults.add(where, text, f"an amount in {unit}", f'write it with its unit, as in "10 {unit}"')
    return value or 0.0


def _waiver(place: int, table: object, faults: Faults) -> Waiver:
    from shadow_perfgate.config.schema import WaiverTable  # noqa: PLC0415 - see parse

    assert isinstance(table, WaiverTable)  # noqa: S101 - by the schema
    if table.up_to is None and table.metric not in {"output", "leak"}:
        faults.add(
            f"waiver[{place}].up_to",
            None,
            "the largest accepted change",
            f'add it, as in up_to = "8%" for {table.metric}',
        )
    return Waiver(table.metric, table.reason, table.expires, table.up_to, table.workload)


def _leak(file: "File", faults: Faults) -> LeakRule:
    floor = _floor("leak.floor", file.leak.floor, "MiB", faults)
    return LeakRule(Role(file.leak.role), floor, file.leak.min_batches)
