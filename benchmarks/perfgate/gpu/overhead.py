"""What sampling costs the measured process: one process runs passes while the sampler is on and off in turn.

Usage: overhead.py OUT.json PASSES MODE...
"""

import itertools
import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from plans import mode

from shadow_perfgate.guard.nvml import open_gpu
from shadow_perfgate.measure.launch import RESULT, Launchers
from shadow_perfgate.measure.sampler import Sampler, take

WINDOW_S = 1.0


def passes(name: str, count: int, scratch: Path) -> dict[str, Any]:
    """Return the median pass with and without the sampler, and the difference of neighbours."""
    plan = replace(mode(name), passes=count, gpu_time=False)
    gpu = open_gpu()
    spans: list[tuple[int, int, bool]] = []
    with closing(Launchers()) as launchers:
        running = launchers.of(plan, Path.cwd()).start(plan, Path.cwd(), scratch)
        for on in itertools.cycle((True, False)):
            began = time.monotonic_ns()
            if on:
                with Sampler(gpu, running.pid):
                    time.sleep(WINDOW_S)
            else:
                time.sleep(WINDOW_S)
            spans.append((began, time.monotonic_ns(), on))
            if (scratch / RESULT).exists():
                break
        running.wait(60)
        running.end()
    told = json.loads((scratch / RESULT).read_text(encoding="utf-8"))
    return compare(name, told["windows"], spans)


def compare(name: str, windows: list[list[int]], spans: list[tuple[int, int, bool]]) -> dict[str, Any]:
    """Return medians per span, and the mean relative difference of each on-span to its off-neighbours."""
    medians: list[tuple[bool, float]] = []
    for start, end, on in spans:
        inside = [(b - a) / 1e6 for a, b in windows if start <= a and b <= end]
        if len(inside) >= 3:
            medians.append((on, statistics.median(inside)))
    pairs = [(a, b) for a, b in itertools.pairwise(medians) if a[0] != b[0]]
    ratios = [(a[1] / b[1] if a[0] else b[1] / a[1]) - 1 for a, b in pairs]
    return {
        "mode": name,
        "spans": len(medians),
        "on_ms": statistics.median([m for on, m in medians if on]),
        "off_ms": statistics.median([m for on, m in medians if not on]),
        "overhead_median": statistics.median(ratios),
        "overhead_mean": statistics.fmean(ratios),
        "overhead_stderr": statistics.stdev(ratios) / len(ratios) ** 0.5,
    }


def main() -> None:
    """Write the overhead of each mode and the time that one sample takes."""
    gpu, found = open_gpu(), []
    began = time.perf_counter()
    for _ in range(50):
        take(gpu, (1,))
    found.append({"one_sample_ms": (time.perf_counter() - began) * 20})
    for name in sys.argv[3:]:
        with tempfile.TemporaryDirectory() as scratch:
            found.append(passes(name, int(sys.argv[2]), Path(scratch)))
        print(found[-1], flush=True)
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
