"""The form of perfgate.toml as pydantic models; `shadow_perfgate.config` turns them into plain values."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from shadow_perfgate.decide.rules import MOST_PAIRS
from shadow_perfgate.errors import InputError
from shadow_perfgate.units import convert, convertible

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?)%")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?) ([A-Za-z/%]+)")


def _parse_percent(value: object) -> float:
    """Return a share from its one documented form, text like `5%`."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if found is None or float(found[1]) >= 100:
        raise ValueError(
            'expected how much worse than base it may be, as text: "5%" (at least 0%, below 100%)'
        )
    return float(found[1]) / 100


def parse_quantity(text: str, unit: str) -> float | None:
    """Return the number of `unit` that text like `128 MiB` stands for; None when it is none."""
    found = _QUANTITY.fullmatch(text)
    if found is None or not convertible(found[2], unit):
        return None
    return convert(float(found[1]), found[2], unit)


Share = Annotated[float, BeforeValidator(_parse_percent)]
RoleName = Literal["gate", "observe"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class GateTable(_Table):
    """`[gate]`."""

    main: str = Field("main", min_length=1)
    alpha: float = Field(0.01, gt=0, le=0.1)
    looks: list[int] = Field([6, 12, 24], min_length=1, max_length=10)
    noisy_looks: list[int] = Field([10, 20, 40], min_length=1, max_length=10)
    min_runs: int = Field(5, ge=5, le=100)
    stored_runs: int = Field(4, ge=0, le=100)
    missing_baseline: Literal["warn", "fail", "bootstrap"] = "warn"
    rules_from: Literal["base", "head"] = "base"
    check_output: bool = True

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for looks in (self.looks, self.noisy_looks):
            if sorted(set(looks)) != looks or looks[0] < self.min_runs:
                raise ValueError(
                    f"looks must ascend and begin at min_runs ({self.min_runs}) or more, got {looks}"
                )
            if looks[-1] > MOST_PAIRS:
                raise ValueError(f"looks must ascend and stay at {MOST_PAIRS} or below, got {looks}")
        return self


class MetricTable(_Table):
    """`[metrics.<name>]` or `[metrics."<workload>/<name>"]`."""

    role: RoleName | Literal[""] = ""
    limit: Share | None = None
    floor: str | None = None
    unit: str = ""
    direction: Literal["lower", "higher", "equal", ""] = ""
    kind: Literal["sampled", "deterministic", "count"] = "sampled"
    definition: str = "1"
    title: str = ""


class LeakTable(_Table):
    """`[leak]`."""

    role: RoleName = "gate"
    floor: str = "64 MiB"
    min_batches: int = Field(60, ge=16)


class WaiverTable(_Table):
    """`[[waiver]]`."""

    metric: str = Field(min_length=1)
    workload: str = ""
    up_to: Share | None = None
    reason: str = Field(min_length=8)
    expires: date


class StoreTable(_Table):
    """`[store]`."""

    url: str = "folder:.perfgate"
    endpoint: str = ""
    region: str = ""

    def options(self) -> dict[str, str]:
        """Return the settings beside the address that were given."""
        return {k: v for k, v in (("endpoint", self.endpoint), ("region", self.region)) if v}


class File(_Table):
    """The whole file."""

    project: str = ""
    prepare: list[Annotated[list[str], Field(min_length=1)]] = Field(default_factory=list[list[str]])
    gate: GateTable = Field(default_factory=GateTable)  # type: ignore[arg-type]
    metrics: dict[str, MetricTable] = Field(default_factory=dict[str, MetricTable])
    leak: LeakTable = Field(default_factory=LeakTable)  # type: ignore[arg-type]
    waiver: list[WaiverTable] = Field(default_factory=list[WaiverTable])
    aliases: dict[str, str] = Field(default_factory=dict[str, str])
    store: StoreTable = Field(default_factory=StoreTable)
    workload: list[dict[str, object]] = Field(default_factory=list[dict[str, object]])


def validate(table: Mapping[str, object], source: str) -> File:
    """Return the file's content, or raise `InputError` with each fault's key, value, expectation."""
    try:
        return File.model_validate(table)
    except ValidationError as error:
        raise InputError(
            *(_fault(source, dict(fault)) for fault in error.errors(include_url=False))
        ) from None


def _fault(source: str, fault: Mapping[str, object]) -> str:
    location = cast("tuple[int | str, ...]", fault["loc"])
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        return (
            f"{source}: {where}: unknown key; correct or remove it (docs/reference/perf-gate.md lists them)"
        )
    if fault["type"] == "missing":
        return f"{source}: {where}: missing; add it"
    return f"{source}: {where}: got {fault['input']!r}; {message[0].lower()}{message[1:]}"
