"""Files that continuous-benchmark trackers read: github-action-benchmark and Bencher."""

import json
from statistics import median

from shadow_perfgate.decide.shift import cv
from shadow_perfgate.decide.verdict import Decision, MetricDecision, WorkloadDecision
from shadow_perfgate.model import Direction
from shadow_perfgate.text import percent

_SLUG_LIMIT = 64


def github_action_benchmark(decision: Decision, direction: Direction) -> str:
    """Return the entries of one direction, which that action takes from the tool, not from an entry."""
    entries = [
        _entry(workload, metric)
        for workload in decision.workloads
        for metric in workload.metrics
        if metric.spec.direction is direction
    ]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def bencher(decision: Decision) -> str:
    """Return the Bencher Metric Format: benchmark to measure to value with its range."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for workload in decision.workloads:
        for metric in workload.metrics:
            slug = metric.spec.name.replace("_", "-")[:_SLUG_LIMIT]
            values = metric.candidate
            found.setdefault(workload.workload, {})[slug] = {
                "value": median(values),
                "lower_value": min(values),
                "upper_value": max(values),
            }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _entry(workload: WorkloadDecision, metric: MetricDecision) -> dict[str, object]:
    values = metric.candidate
    gpu = workload.candidate.fingerprint.keys.get("gpu", "none") if workload.candidate else "none"
    spread = percent(cv(values)) if min(values) > 0 else "?"
    return {
        "name": f"{workload.workload}/{metric.spec.name}",
        "unit": metric.spec.unit,
        "value": median(values),
        "range": f"± {(max(values) - min(values)) / 2:.4g}",
        "extra": f"n={len(values)}\nCV={spread}\ngpu={gpu}",
    }
