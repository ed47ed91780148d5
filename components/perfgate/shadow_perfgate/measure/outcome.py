"""Joins what the worker told with what the sampler saw into one run."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from shadow_perfgate.guard import throttle
from shadow_perfgate.measure.sampler import Sample
from shadow_perfgate.model import Run, Series

POINTS = 600
"""Points kept per series for plots."""


def run(
    told: Mapping[str, Any], samples: Sequence[Sample], idle_mib: float | None, highest_clock: float | None
) -> Run:
    """Return the run; metrics that nobody measured are left out."""
    windows = [(int(start), int(end)) for start, end in told["windows"]]
    during = within(samples, windows)
    metrics: dict[str, float] = {**told["metrics"], "start_time": told["start_time"]}
    metrics |= {
        key: told["peaks"][key]
        for key in ("peak_vram_allocated", "peak_vram_reserved")
        if key in told["peaks"]
    }
    metrics |= {**(told["kernel"] or {}), **peaks(during, idle_mib)}
    joules = energy(samples, windows)
    if joules is not None and metrics.get("output_tokens"):
        metrics["energy_per_token"] = joules / metrics["output_tokens"]
    return Run(
        metrics=metrics,
        requests=told["requests"],
        discarded=unfit(during, highest_clock),
        output_digest=told["digest"],
        series=series(told, samples),
        samples={kind: tuple(values) for kind, values in told["samples"].items()},
        conditions=conditions(told, during, joules),
    )


def within(samples: Sequence[Sample], windows: Sequence[tuple[int, int]]) -> Sequence[Sample]:
    """Return the samples of the timed passes; for passes shorter than the period the nearest one."""
    inside = [s for s in samples if any(start <= s.at_ns <= end for start, end in windows)]
    if inside or not samples:
        return inside
    ends = [moment for window in windows for moment in window]
    return [min(samples, key=lambda s: min(abs(s.at_ns - moment) for moment in ends))]


def peaks(during: Sequence[Sample], idle_mib: float | None) -> dict[str, float]:
    """Return the sampled peaks in the timed passes."""
    found = {
        "peak_vram_process": _most(during, lambda s: s.process_mib),
        "peak_vram_device": _most(during, lambda s: s.device_mib),
        "host_ram_peak": _most(during, lambda s: s.host_mib),
    }
    if found["peak_vram_device"] is not None:
        found["peak_vram_device"] -= idle_mib or 0.0
    return {name: value for name, value in found.items() if value is not None}


def _values(samples: Sequence[Sample], of: Callable[[Sample], float | None]) -> list[float]:
    return [value for value in map(of, samples) if value is not None]


def _most(samples: Sequence[Sample], of: Callable[[Sample], float | None]) -> float | None:
    return max(_values(samples, of), default=None)


def energy(samples: Sequence[Sample], windows: Sequence[tuple[int, int]]) -> float | None:
    """Return the joules drawn in the windows, the counter interpolated at their ends."""
    points = [(s.at_ns, s.energy_j) for s in samples if s.energy_j is not None]
    if len(points) < 2 or not windows:
        return None
    return sum(_at(points, end) - _at(points, start) for start, end in windows)


def _at(points: Sequence[tuple[int, float]], moment: int) -> float:
    before = max((p for p in points if p[0] <= moment), default=points[0])
    after = min((p for p in points if p[0] >= moment), default=points[-1])
    if after[0] <= before[0]:
        return before[1]
    return before[1] + (after[1] - before[1]) * (moment - before[0]) / (after[0] - before[0])


def unfit(during: Sequence[Sample], highest_clock: float | None) -> str:
    """Return why the run must not count: foreign processes or a GPU that slowed itself down."""
    foreign = sorted({pid for sample in during for pid in sample.foreign})
    if foreign:
        return f"GPU was shared: foreign process {', '.join(map(str, foreign))} during the timed passes"
    events = [sample.events for sample in during if sample.events is not None]
    return throttle.discard(events, _values(during, lambda s: s.clock_mhz), highest_clock)


def series(told: Mapping[str, Any], samples: Sequence[Sample]) -> dict[str, Series]:
    """Return the memory after each batch for the leak test, and values over time for plots."""
    found = {
        name: Series("MiB", tuple(told[key]))
        for name, key in (("vram_quiescent", "quiescent"), ("host_quiescent", "host_quiescent"))
        if told[key]
    }
    if "vram_quiescent" not in found and told["quiescent_ns"]:
        held = tuple(_nearest(samples, moment) for moment in told["quiescent_ns"])
        if all(value is not None for value in held):
            found["vram_quiescent"] = Series("MiB", tuple(value for value in held if value is not None))
    plots: dict[str, tuple[str, Callable[[Sample], float | None]]] = {
        "vram": ("MiB", lambda s: s.device_mib),
        "power": ("W", lambda s: s.power_w),
        "sm_clock": ("MHz", lambda s: s.clock_mhz),
        "host_ram": ("MiB", lambda s: s.host_mib),
    }
    return found | {
        name: _plot(unit, samples, of) for name, (unit, of) in plots.items() if _values(samples, of)
    }


def _nearest(samples: Sequence[Sample], moment: int) -> float | None:
    return min(samples, key=lambda s: abs(s.at_ns - moment)).device_mib if samples else None


def _plot(unit: str, samples: Sequence[Sample], of: Callable[[Sample], float | None]) -> Series:
    step = max(1, -(-len(samples) // POINTS))
    kept = [(s.at_ns, value) for s in samples[::step] if (value := of(s)) is not None]
    start = kept[0][0] if kept else 0
    times = tuple(round((at - start) / 1e9, 3) for at, _ in kept)
    return Series(unit, tuple(round(value, 2) for _, value in kept), times)


def conditions(told: Mapping[str, Any], during: Sequence[Sample], joules: float | None) -> dict[str, float]:
    """Return clocks, temperature, power and shares of clock-event reasons in the timed passes."""
    found: dict[str, float] = {"samples": float(len(during))}
    clocks, watts = _values(during, lambda s: s.clock_mhz), _values(during, lambda s: s.power_w)
    if clocks:
        found |= {"sm_clock_median_mhz": median(clocks), "sm_clock_least_mhz": min(clocks)}
    if watts:
        found["power_mean_w"] = fmean(watts)
    hottest = _most(during, lambda s: s.temperature_c)
    found |= {} if hottest is None else {"temperature_most_c": hottest}
    found |= {} if joules is None else {"energy_j": joules}
    if told["residual_mib"] is not None:
        found["vram_after_unload_mib"] = told["residual_mib"]
    events = [sample.events for sample in during if sample.events is not None]
    shares = throttle.shares(events)
    return found | {f"share_{name}": share for name, share in shares.items()} | _retries(told)


def _retries(told: Mapping[str, Any]) -> dict[str, float]:
    retries = told["peaks"].get("alloc_retries")
    return {} if retries is None else {"alloc_retries": retries}
