"""Measures one unchanged program again and again, one fresh process a run, the modes in turn (A/A).

Usage: calibrate.py OUT.jsonl SECONDS RUNS fork|spawn MODE... Each line is one run: mode, number, metrics,
conditions. It ends after RUNS rounds or SECONDS; a mode may be named twice.
"""

import json
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from plans import mode

from shadow_perfgate.guard.nvml import open_gpu
from shadow_perfgate.measure.fresh import Measured, measure
from shadow_perfgate.measure.launch import Launchers


def line(name: str, number: int, done: Measured) -> dict[str, Any]:
    """Return what is kept of a run."""
    run = done.run
    kept = {key: float(f"{value:.7g}") for key, value in run.metrics.items()}
    seen = {key: float(f"{value:.5g}") for key, value in run.conditions.items()}
    warm = {"warmup": done.warmup.passes, "steady": done.warmup.stable}
    rest = {"digest": run.output_digest[:12], "discarded": run.discarded, "seconds": round(run.duration_s, 2)}
    return {
        "mode": name,
        "run": number,
        "started": run.started,
        "metrics": kept,
        "seen": seen,
        **rest,
        **warm,
    }


def main() -> None:
    """Run the modes in turn until there are enough runs or the time is over."""
    out, seconds, runs = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    deadline = time.monotonic() + seconds
    kept = {} if sys.argv[4] == "fork" else {"preload": ()}
    plans = [(name, replace(mode(name), **kept)) for name in sys.argv[5:]]
    gpu = open_gpu()
    with out.open("a", encoding="utf-8") as file, closing(Launchers()) as launchers:
        for number in range(runs):
            for name, plan in plans:
                if time.monotonic() > deadline:
                    return
                done = measure(plan, Path.cwd(), gpu, 0.0, launchers.of(plan, Path.cwd()))
                found = line(f"{name}/{sys.argv[4]}", number, done)
                print(json.dumps(found), file=file, flush=True)
                print(
                    name,
                    number,
                    found["seconds"],
                    found["metrics"]["itl_median"],
                    found["discarded"],
                    flush=True,
                )


if __name__ == "__main__":
    main()
