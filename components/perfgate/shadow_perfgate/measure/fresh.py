"""One run: a fresh process beside a sampler, on a GPU that was free before and is free again after."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shadow_perfgate import scratch
from shadow_perfgate.errors import EnvironmentFaultError, MeasureError
from shadow_perfgate.guard import dirty
from shadow_perfgate.guard.nvml import Gpu
from shadow_perfgate.masking import tail
from shadow_perfgate.measure import command, outcome, process
from shadow_perfgate.measure.launch import RESULT, Launcher
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.measure.sampler import Sample, Sampler
from shadow_perfgate.model import Run, WarmUp

SETTLE_S = 10.0
"""Most time to wait for an earlier process to give its memory back."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A run with what belongs to its session."""

    run: Run
    warmup: WarmUp
    software: Mapping[str, str]
    notes: tuple[str, ...]
    streams: bool
    sources: tuple[str, ...] = ()
    """Folders of loaded modules that are not installed."""
    outputs: int = 1
    """How many different outputs the passes of this process gave."""


def measure(
    plan: Plan, checkout: Path, gpu: Gpu | None, idle_mib: float | None, launcher: Launcher
) -> Measured:
    """Run `plan` once in `checkout`; raises `EnvironmentFaultError` when the GPU is not free."""
    if gpu is not None and (found := dirty.wait_until_free(gpu, SETTLE_S, idle_mib)):
        raise EnvironmentFaultError(*found)
    started, began = datetime.now(UTC), time.monotonic()
    with scratch.folder("run") as place:
        told, samples = _process(plan, checkout, gpu, place, launcher)
    clock = gpu.number("MaxClockInfo", 1) if gpu is not None else None
    run = outcome.run(told, samples, idle_mib, clock)
    warmth: dict[str, Any] = told["warmup"]
    warmup = WarmUp(warmth["passes"], warmth["stable"], tuple(warmth["medians"]))
    return Measured(
        replace(run, started=started.isoformat(timespec="seconds"), duration_s=time.monotonic() - began),
        warmup,
        told["software"],
        tuple(told["notes"]),
        bool(told.get("streams", False)),
        tuple(told.get("sources", ())),
        len(told.get("digests", [""])),
    )


def _process(
    plan: Plan, checkout: Path, gpu: Gpu | None, place: Path, launcher: Launcher
) -> tuple[dict[str, Any], Sequence[Sample]]:
    start = time.monotonic_ns()
    running = launcher.start(plan, checkout, place)
    sampler = Sampler(gpu, running.pid)
    try:
        with sampler:
            ended = running.wait(plan.timeout_s)
    finally:
        running.end()
    if plan.engine == "command":
        return command.told(ended, plan.options, (start, time.monotonic_ns())), sampler.samples
    return _result(plan, ended, place / RESULT), sampler.samples


def _result(plan: Plan, ended: process.Ended, path: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MeasureError(
            f"workload {plan.name!r}: the process died with {ended.code} before it gave a result "
            f"(a negative code is a signal; -9 is often out of memory): {tail(ended.stderr, process.TAIL)}"
        ) from error
    if "error" in told:
        raise MeasureError(f"workload {plan.name!r} ({plan.engine}): {told['error']}\n{told['trace']}")
    if told["metrics"].get("errors", 0) >= told["requests"]:
        raise MeasureError(
            f"workload {plan.name!r}: every request failed, the first with {told['first_error']}"
        )
    return told
