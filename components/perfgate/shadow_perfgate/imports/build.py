"""Builds a session from figures of another tool, and refuses what would make it worthless."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from shadow_perfgate.errors import Faults
from shadow_perfgate.imports.node import Node
from shadow_perfgate.measure.figures import thinned
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Kind, MetricSpec, Run, Session, Workload


def session(
    tool: str,
    source: str,
    workload: Workload,
    metrics: Mapping[str, float],
    *,
    requests: int = 0,
    samples: Mapping[str, tuple[float, ...]] | None = None,
    own: Mapping[str, MetricSpec] | None = None,
    notes: tuple[str, ...] = (),
) -> Session:
    """Return a session of one run; `own` gives the meaning of metrics that are not canonical."""
    faults = Faults(source)
    for name, value in metrics.items():
        _check(name, value, own or {}, faults)
    if not metrics:
        faults.add("metrics", "none", "at least one figure", "run the benchmark again")
    faults.raise_if_any()
    kept = {name: value for name, value in metrics.items() if _supported(name, requests)}
    specs = tuple((own or {}).get(name) or replace(CANONICAL[name], definition=tool) for name in kept)
    thin = {kind: thinned(values) for kind, values in (samples or {}).items()}
    run = Run(metrics=kept, requests=requests, samples=thin)
    return Session(
        workload=replace(workload, engine=f"import:{tool}"),
        runs=(run,),
        metrics=specs,
        notes=(
            *notes,
            f"imported from {tool}: the process, the warm-up and the GPU's state were not guarded",
        ),
    )


def _check(name: str, value: float, own: Mapping[str, MetricSpec], faults: Faults) -> None:
    spec = own.get(name) or CANONICAL[name]
    may_be_zero = spec.kind is Kind.COUNT
    if not isfinite(value) or value < 0 or (value == 0 and not may_be_zero):
        faults.add(name, value, "a number above 0", "no request gave it: run the benchmark again")


def _supported(name: str, requests: int) -> bool:
    return name not in CANONICAL or requests >= CANONICAL[name].min_requests


def present(nodes: Mapping[str, Node]) -> dict[str, float]:
    """Return the figures that are numbers; what a tool did not measure is null or left out."""
    found = {name: node.number() for name, node in nodes.items()}
    return {name: value for name, value in found.items() if value is not None}
