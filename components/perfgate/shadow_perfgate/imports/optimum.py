"""Results of optimum-benchmark (`benchmark_report.json`, or `benchmark.json` with it under `report`).

Its MB are decimal (bytes divided by a million), its times are seconds.
"""

from collections.abc import Mapping
from statistics import median
from typing import Final

from shadow_perfgate.imports.build import present, session
from shadow_perfgate.imports.node import Node
from shadow_perfgate.model import Session, Workload
from shadow_perfgate.units import convert

LATENCIES: Final = {
    "prefill": "ttft_median",
    "per_token": "itl_median",
    "forward": "e2e_median",
    "call": "e2e_median",
}
MEMORY: Final = {
    "max_allocated": "peak_vram_allocated",
    "max_reserved": "peak_vram_reserved",
    "max_process_vram": "peak_vram_process",
    "max_global_vram": "peak_vram_device",
    "max_ram": "host_ram_peak",
}


def _targets(document: Node) -> dict[str, Node]:
    report = document["report"] if document.has("report") else document
    return report.only((*LATENCIES, "decode", "load"))


def fits(document: Node) -> bool:
    """Tell whether `document` holds targets with latency or memory."""
    return any(target.has("latency") or target.has("memory") for target in _targets(document).values())


def read(document: Node) -> list[Session]:
    """Return one session with the figures of all targets; memory is the largest of them."""
    targets = _targets(document)
    metrics = _memory(targets) | _rates(targets)
    requests = 0
    for name, target in targets.items():
        values = target["latency"]["values"].numbers()
        if values and name in LATENCIES:
            metrics[LATENCIES[name]] = median(values) * 1000
            requests = max(requests, len(values))
    name = document["config"]["name"].text("optimum")
    return [session("optimum-benchmark", document.source, Workload(name), metrics, requests=requests)]


def _memory(targets: Mapping[str, Node]) -> dict[str, float]:
    found: dict[str, float] = {}
    for target in targets.values():
        memory = target["memory"]
        unit = memory["unit"].text("MB")
        for name, value in present({ours: memory[theirs] for theirs, ours in MEMORY.items()}).items():
            if value:
                found[name] = max(found.get(name, 0.0), convert(value, unit, "MiB"))
    return found


def _rates(targets: Mapping[str, Node]) -> dict[str, float]:
    pairs = {"decode": "output_tps", "prefill": "prefill_tps"}
    return present(
        {ours: targets[name]["throughput"]["value"] for name, ours in pairs.items() if name in targets}
    )
