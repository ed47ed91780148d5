"""Times one round of looks over a large state, and weighs the process that holds it.

    .venv/bin/python benchmarks/autoscaler/tick.py --vms 1000 --jobs 5000

A round is what the runtime does between two waits: all servers, all waiting and running jobs, all runners,
quota and the tick, each decided, committed to SQLite (write-ahead log, full synchronisation) and applied.
"""

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import large_state
import psutil

from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.events import (
    Event,
    JobsListed,
    QuotaRead,
    Runner,
    RunnersListed,
    ServersListed,
    Tick,
)
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import Decision
from shadow_autoscaler.ports import Commit
from shadow_autoscaler.runtime.engine import Engine

IMPORTS = (
    "shadow_autoscaler.edge.serve",
    "shadow_autoscaler.edge.web.app",
    "shadow_autoscaler.adapters.openstack",
    "shadow_autoscaler.adapters.github",
    "shadow_autoscaler.adapters.gitlab",
    "uvicorn",
    "openstack.connection",
    "openstack.compute.v2.server",
    "githubkit",
    "gitlab",
)
"""What a controller has loaded once it has called everybody."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vms", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--weigh", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args(arguments)
    if wanted.weigh:
        _weigh(wanted.vms, wanted.jobs)
        return
    print("| what | p50 ms wall | p95 ms wall | p50 ms CPU |\n|---|---:|---:|---:|")
    for name, walls, cpus in _time(wanted.vms, wanted.jobs, wanted.rounds):
        p95 = sorted(walls)[int(len(walls) * 0.95)]
        print(f"| {name} | {statistics.median(walls):.1f} | {p95:.1f} | {statistics.median(cpus):.1f} |")
    print("\n| resident | MiB |\n|---|---:|")
    for vms, jobs in ((0, 0), (wanted.vms, 0), (wanted.vms, wanted.jobs)):
        print(f"| {vms} VMs, {jobs} jobs | {_resident(vms, jobs):.1f} |")


def _engine(folder: str, vms: int, jobs: int) -> tuple[Engine, Decision]:
    decision = large_state.filled(vms, jobs)
    store = SqliteStore(Path(folder) / "state.db")
    store.lease("bench", 3600.0, large_state.NOW)
    store.commit(Commit(decision, large_state.NOW))
    moment = iter(range(1_000_000))
    engine = Engine(
        store, large_state.deployment(max(vms, 10)), decide, lambda: large_state.NOW + 5.0 * next(moment)
    )
    engine.activate()
    return engine, decision


def _round(decision: Decision) -> dict[str, Callable[[], Event]]:
    servers, jobs = large_state.servers(decision), tuple(job.facts for job in decision.jobs)
    runners = tuple(Runner(vm.runner_id or 0, vm.runner_name, online=True, busy=True) for vm in decision.vms)
    return {
        "servers listed": lambda: ServersListed(servers, complete=True, asked_at=large_state.NOW),
        "jobs listed": lambda: JobsListed(jobs, complete=True, forge="github"),
        "runners listed": lambda: RunnersListed("github", runners, complete=True),
        "quota read": lambda: QuotaRead(Quota(large_state.NOW, instances=0)),
        "tick": Tick,
    }


def _time(vms: int, jobs: int, rounds: int) -> list[tuple[str, list[float], list[float]]]:
    with tempfile.TemporaryDirectory() as folder:
        engine, decision = _engine(folder, vms, jobs)
        events = _round(decision)
        walls: dict[str, list[float]] = {name: [] for name in (*events, "the whole round")}
        cpus: dict[str, list[float]] = {name: [] for name in walls}
        for _ in range(rounds):
            wall, cpu = time.perf_counter(), time.process_time()
            for name, event in events.items():
                start, used = time.perf_counter(), time.process_time()
                engine.handle(event())
                walls[name].append((time.perf_counter() - start) * 1000)
                cpus[name].append((time.process_time() - used) * 1000)
            walls["the whole round"].append((time.perf_counter() - wall) * 1000)
            cpus["the whole round"].append((time.process_time() - cpu) * 1000)
        return [(name, walls[name], cpus[name]) for name in walls]


def _resident(vms: int, jobs: int) -> float:
    command = [sys.executable, __file__, "--weigh", "--vms", str(vms), "--jobs", str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return float(json.loads(done.stdout))


def _weigh(vms: int, jobs: int) -> None:
    for name in IMPORTS:
        importlib.import_module(name)

    with tempfile.TemporaryDirectory() as folder:
        engine, decision = _engine(folder, vms, jobs)
        for event in _round(decision).values():
            engine.handle(event())
        del decision
        print(json.dumps(psutil.Process().memory_info().rss / 2**20))


if __name__ == "__main__":
    main()
