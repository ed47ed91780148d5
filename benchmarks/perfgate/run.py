"""Times the gate's own work: `compare` of 10,000 runs, `history` of 5,000 sessions, starting up.

CPU time of a process of its own, least of three; each figure includes Python's start.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shadow_perfgate import codec
from shadow_perfgate.baseline.folder import FolderStore
from shadow_perfgate.baseline.sessions import append
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Fingerprint, Run, Session, Workload

NAMES = ("itl_median", "ttft_median", "output_tps", "peak_vram_allocated")


def session(runs: int, seed: int) -> Session:
    """Return a session with four metrics."""
    source = random.Random(seed)
    made = tuple(
        Run({name: 16000.0 if "vram" in name else 100 * source.lognormvariate(0, 0.02) for name in NAMES})
        for _ in range(runs)
    )
    metrics = tuple(CANONICAL[name] for name in NAMES)
    return Session(Workload("decode"), made, metrics, Fingerprint({"gpu": "H100"}), project="p")


def cpu_seconds(folder: Path, *arguments: str) -> float:
    """Return the least CPU time of three calls of the command line."""
    return min(_once(folder, arguments) for _ in range(3))


def _once(folder: Path, arguments: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "shadow_perfgate", *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode not in {0, 1}:
        raise SystemExit(ended.stdout + ended.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line a figure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, seed in (("base", 1), ("candidate", 2)):
            (folder / f"{side}.json").write_text(codec.dumps(session(5000, seed)), encoding="utf-8")
        store, start = FolderStore(folder / ".perfgate"), datetime(2020, 1, 1, tzinfo=UTC)
        for number in range(5000):
            measured = replace(session(6, number), commit=f"{number:040x}")
            append(store, measured, "main", start + timedelta(hours=8 * number))
        (folder / "perfgate.toml").write_text('project = "p"\n', encoding="utf-8")
        print(f"Python alone          {_python():.3f} s")
        print(f"--version             {cpu_seconds(folder, '--version'):.3f} s")
        print(f"compare, 2 x 5,000    {cpu_seconds(folder, 'compare', 'base.json', 'candidate.json'):.3f} s")
        print(f"history, 5,000        {cpu_seconds(folder, 'history'):.3f} s")


def _python() -> float:
    started = os.times()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    ended = os.times()
    return ended.children_user + ended.children_system - started.children_user - started.children_system


if __name__ == "__main__":
    main()
