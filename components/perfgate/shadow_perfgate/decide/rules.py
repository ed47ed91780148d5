"""The rules a decision is made by: limits, looks, waivers; `shadow_perfgate.config` reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from shadow_perfgate.metrics import CANONICAL, DEFAULT_GATED
from shadow_perfgate.model import Kind, MetricSpec

MOST_PAIRS = 1000
"""Most pairs of one attempt; a retry's pairs are numbered from there on."""


class Role(StrEnum):
    """Whether a metric can block."""

    GATE = "gate"
    OBSERVE = "observe"


@dataclass(frozen=True, slots=True)
class Threshold:
    """How much worse a metric may be: the larger of a share of base and an absolute floor."""

    role: Role
    limit: float
    """Share by which it may be worse: 0.05 is 5 %."""
    floor: float = 0.0
    """In the metric's unit; a change up to it never blocks."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """A regression that was accepted: by whom is in perfgate.toml's history, why and until when is here."""

    metric: str
    reason: str
    expires: date
    """Last day (UTC) on which it holds."""
    up_to: float | None = None
    """Largest accepted share; None for metrics without one (`output`, `leak`)."""
    workload: str = ""
    """Empty for every workload."""

    def covers(self, metric: str, workload: str, change: float | None, today: date) -> bool:
        """Tell whether this waiver accepts the `change` of that metric today."""
        named = self.metric == metric and self.workload in {"", workload}
        small = self.up_to is None or (change is not None and change <= self.up_to)
        return named and small and today <= self.expires


@dataclass(frozen=True, slots=True)
class LeakRule:
    """When memory noted after each batch counts as a leak."""

    role: Role = Role.GATE
    floor: float = 64.0
    """MiB of growth over the series that is not yet a leak."""
    min_points: int = 60


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything that decides beside the measured values."""

    alpha: float = 0.01
    """Chance of a false alarm that the tests are held to."""
    looks: tuple[int, ...] = (6, 12, 24)
    """Pairs after which a decision is tried; the last one ends it."""
    noisy_looks: tuple[int, ...] = (10, 20, 40)
    """Used from the first look on when runs vary by more than `noisy_from`."""
    noisy_from: float = 0.03
    min_runs: int = 5
    thresholds: Mapping[str, Threshold] = field(default_factory=dict[str, Threshold])
    """By metric, or by `<workload>/<metric>`, which goes first."""
    waivers: tuple[Waiver, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Old name of a renamed metric to its new name."""
    leak: LeakRule = field(default_factory=LeakRule)
    check_output: bool = True

    def threshold(self, spec: MetricSpec, workload: str) -> Threshold:
        """Return the threshold that holds for a metric of a workload."""
        for name in (f"{workload}/{spec.name}", spec.name):
            if name in self.thresholds:
                return self.thresholds[name]
        return default_threshold(spec)


EXACT_FLOOR = 8.0
"""MiB for what an allocator counts itself: the same to the byte in unchanged runs; libraries' workspaces of a
few MiB may come and go."""
SEEN_FLOOR = 128.0
"""MiB for what is seen from outside, where contexts, drivers and other processes take part."""
_SEEN = frozenset({"peak_vram_process", "peak_vram_device"})


def default_threshold(spec: MetricSpec) -> Threshold:
    """Return what holds for a metric that perfgate.toml leaves out: 5 %; memory 1 % and a floor; counts 0."""
    role = Role.GATE if spec.name in DEFAULT_GATED else Role.OBSERVE
    if spec.kind is Kind.COUNT:
        return Threshold(role, 0.01 if spec.direction == "equal" else 0.0)
    if spec.name in _SEEN:
        return Threshold(role, 0.01 if spec.kind is Kind.DETERMINISTIC else 0.05, SEEN_FLOOR)
    if spec.kind is Kind.DETERMINISTIC:
        return Threshold(role, 0.01, _memory_floor(spec))
    return Threshold(role, 0.05)


def _memory_floor(spec: MetricSpec) -> float:
    if spec.unit != "MiB":
        return 0.0
    return EXACT_FLOOR if spec.name in CANONICAL else SEEN_FLOOR
