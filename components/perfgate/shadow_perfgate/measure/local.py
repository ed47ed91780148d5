"""Measures on this machine: the candidate alone, or base and candidate interleaved."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shadow_perfgate import __version__, masking
from shadow_perfgate.errors import BaseArmError, MeasureError
from shadow_perfgate.guard import dirty, fingerprint
from shadow_perfgate.guard.nvml import Gpu, NvmlMissingError, open_gpu
from shadow_perfgate.measure import advice, apart
from shadow_perfgate.measure.fresh import Measured, measure
from shadow_perfgate.measure.launch import Launchers
from shadow_perfgate.measure.order import Arm, interleaved
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Direction, MetricSpec, Session
from shadow_perfgate.ports import Progress

PER_REQUEST = "request/tokens"
"""Definition id of `tpot` when the engine does not stream: time of the whole request per output token."""


@dataclass(slots=True)
class LocalMeasurer:
    """Measures `plan` in the checkouts of the candidate and, for pairs, of the base."""

    plan: Plan
    head: Path
    base: Path | None = None
    idle_mib: float | None = None
    """Used memory of the idle GPU; read before the first run when not given."""
    launchers: Launchers = field(default_factory=Launchers)
    """Shared by the measurers of a gate, so that slow packages are imported once."""
    _gpu: Gpu | None = field(default=None, init=False)
    _why_no_gpu: str = field(default="", init=False)
    _opened: bool = field(default=False, init=False)
    _apart_from: Path | None = field(default=None, init=False)
    """The base whose code is known to be another than the candidate's."""

    def candidate(self, runs: int, progress: Progress) -> Session:
        """Measure the candidate alone, `runs` times."""
        self._take_machine()
        found = [self._one("candidate", done, runs, progress) for done in range(runs)]
        return self._session(found)

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Measure the pairs `first` to `last` (exclusive), A B, B A, …; return (base, candidate)."""
        if self.base is None:
            raise MeasureError("there is no checkout of the base to measure pairs with; name the merge-base")
        if self._apart_from != self.base:
            apart.ensure_apart(self.plan, self.base, self.head)
            self._apart_from = self.base
        arms: dict[Arm, list[Measured]] = {"base": [], "candidate": []}
        self._take_machine()
        for pair, position, arm in interleaved(first, last):
            done = self._one(arm, position - 2 * first, 2 * (last - first), progress)
            arms[arm].append(replace(done, run=replace(done.run, pair=pair, position=position)))
        return self._session(arms["base"]), self._session(arms["candidate"])

    def _take_machine(self) -> None:
        if not self._opened:
            self._opened = True
            self._open()
        self.launchers.hold(self._gpu)
        if self._gpu is not None and self.idle_mib is None and not dirty.faults(self._gpu):
            memory = self._gpu.memory()
            self.idle_mib = None if memory is None else memory.used

    def _open(self) -> None:
        # The GPU that CUDA_VISIBLE_DEVICES names, as for the measured process, or the first.
        try:
            self._gpu = open_gpu()
        except NvmlMissingError as error:
            self._why_no_gpu = str(error)

    def _one(self, arm: Arm, done: int, total: int, progress: Progress) -> Measured:
        progress(f"{self.plan.name}: {arm}", done, total)
        folder = self.base if arm == "base" and self.base is not None else self.head
        try:
            found = measure(self.plan, folder, self._gpu, self.idle_mib, self.launchers.of(self.plan, folder))
        except MeasureError as error:
            kind = BaseArmError if arm == "base" else MeasureError
            raise kind(*(f"{arm} ({folder.name}): {fault}" for fault in error.faults)) from error
        if self.base is not None:
            own, other = (folder, self.head if arm == "base" else self.base)
            apart.ensure_sources(arm, found.sources, own, other)
        progress(f"{self.plan.name}: {arm}", done + 1, total)
        return found

    def _session(self, found: list[Measured]) -> Session:
        runs = tuple(each.run for each in found)
        warmups = [each.warmup for each in found]
        return Session(
            workload=self.plan.workload(),
            runs=runs,
            metrics=specs(found),
            fingerprint=fingerprint.read(self._gpu, dict(found[0].software) if found else None),
            tool_version=__version__,
            command=_command(self.plan),
            warmup=max(warmups, key=lambda warmup: (not warmup.stable, warmup.passes)),
            notes=(*self._vram(found), *_same(found), *advice.notes(self.plan, runs, warmups)),
        )

    def _vram(self, found: list[Measured]) -> list[str]:
        if any(name.startswith("peak_vram") for each in found for name in each.run.metrics):
            return []
        return [f"VRAM was not measured: {self._why_no_gpu or 'the GPU does not tell it'}"]


def _same(found: list[Measured]) -> list[str]:
    notes = dict.fromkeys(note for each in found for note in each.notes)
    unstable = any(each.outputs > 1 for each in found)
    extra = ["outputs differ between passes of one process: the answer cannot be checked by its digest"]
    return [*notes, *(extra if unstable else [])]


def specs(found: list[Measured]) -> tuple[MetricSpec, ...]:
    """Return what the runs' metrics mean; an unknown name of a command is lower-is-better without a unit."""
    names = dict.fromkeys(name for each in found for name in each.run.metrics)
    streams = all(each.streams for each in found)
    return tuple(_spec(name, streams=streams) for name in names)


def _spec(name: str, *, streams: bool) -> MetricSpec:
    known = CANONICAL.get(name)
    if known is None:
        return MetricSpec(name, "", Direction.LOWER, title=name)
    return replace(known, definition=PER_REQUEST) if name.startswith("tpot") and not streams else known


def _command(plan: Plan) -> tuple[str, ...]:
    argv: Any = plan.options.get("argv") or plan.options.get("server")
    return (
        tuple(masking.words(list(map(str, argv))))
        if argv
        else (plan.engine, str(plan.options.get("call") or plan.options.get("model", "")))
    )
