"""Results of GuideLLM (`benchmarks.json`): each benchmark of a sweep is a workload; only successes count."""

from typing import Final

from shadow_perfgate.errors import InputError
from shadow_perfgate.imports.build import present, session
from shadow_perfgate.imports.node import Node
from shadow_perfgate.model import Session, Workload

LATENCIES: Final = {
    "ttft": ("time_to_first_token_ms", 1.0),
    "itl": ("inter_token_latency_ms", 1.0),
    "tpot": ("time_per_output_token_ms", 1.0),
    "e2e": ("request_latency", 1000.0),
}
"""Our stem to (GuideLLM's metric, factor to ms): the request's latency is in seconds."""


def fits(document: Node) -> bool:
    """Tell whether `document` looks like a report of GuideLLM."""
    return any(entry["metrics"].has("request_totals") for entry in document["benchmarks"].each())


def read(document: Node) -> list[Session]:
    """Return one session per benchmark of the report."""
    return [_benchmark(entry) for entry in document["benchmarks"].each()]


def _benchmark(entry: Node) -> Session:
    metrics = entry["metrics"]
    totals = metrics["request_totals"]
    failed = totals["errored"].number() or 0
    if failed:
        raise InputError(
            f"{entry.source}: {totals.path}: {failed:.0f} requests failed, expected none; "
            "a server that drops requests looks fast: find the cause and run it again"
        )
    found = {"errors": 0.0}
    for stem, (name, factor) in LATENCIES.items():
        good = metrics[name]["successful"]
        shares = good["percentiles"]
        values = present({"median": good["median"], "p95": shares["p95"], "p99": shares["p99"]})
        found |= {f"{stem}_{kind}": value * factor for kind, value in values.items() if value}
    found |= present(
        {
            "output_tps": metrics["output_tokens_per_second"]["successful"]["mean"],
            "req_tps": metrics["requests_per_second"]["successful"]["mean"],
            "output_tokens": metrics["output_token_count"]["successful"]["total_sum"],
        }
    )
    requests = int(totals["successful"].needed())
    return session("guidellm", entry.source, _workload(entry), found, requests=requests)


def _workload(entry: Node) -> Workload:
    config = entry["config"] if entry.has("config") else entry["args"]
    strategy = config["strategy"]
    name = strategy["type_"].text(config["profile"].text(entry.path))
    return Workload(name, arguments=strategy.settings())
