"""Results of AIPerf and genai-perf (`profile_export_aiperf.json`, `*_genai_perf.json`)."""

from typing import Final

from shadow_perfgate.errors import InputError
from shadow_perfgate.imports.build import session
from shadow_perfgate.imports.node import Node
from shadow_perfgate.model import Session, Workload
from shadow_perfgate.units import convert

TAGS: Final = {"ttft": "time_to_first_token", "itl": "inter_token_latency", "e2e": "request_latency"}
RATES: Final = {
    "output_tps": ("output_token_throughput", "tok/s"),
    "req_tps": ("request_throughput", "req/s"),
    "output_tokens": ("total_osl", ""),
}
UNITS: Final = {"tokens/sec": "tok/s", "requests/sec": "req/s", "nanoseconds": "ns", "milliseconds": "ms"}


def _records(document: Node) -> Node:
    return document["records"] if document.has("records") else document


def fits(document: Node) -> bool:
    """Tell whether `document` looks like a result of AIPerf or genai-perf."""
    return _records(document)["request_latency"].has("unit")


def read(document: Node) -> list[Session]:
    """Return the session of one result."""
    if document["was_cancelled"].value is True:
        raise InputError(f"{document.source}: was_cancelled is true: the run was stopped; run it again")
    records = _records(document)
    metrics: dict[str, float] = {"errors": records["error_request_count"]["avg"].number() or 0.0}
    for ours, tag in TAGS.items():
        for kind, key in (("median", "p50"), ("p95", "p95"), ("p99", "p99")):
            metrics |= _value(f"{ours}_{kind}", records[tag], key, "ms")
    for ours, (tag, unit) in RATES.items():
        metrics |= _value(ours, records[tag], "avg", unit)
    requests = int(records["request_count"]["avg"].number() or 0)
    return [session("aiperf", document.source, _workload(document), metrics, requests=requests)]


def _value(name: str, record: Node, key: str, unit: str) -> dict[str, float]:
    found = record[key].number()
    if found is None:
        return {}
    given = record["unit"].text()
    return {name: convert(found, UNITS.get(given, given), unit) if unit else found}


def _workload(document: Node) -> Workload:
    given = document["input_config"]
    named = [node.text() for node in (*given["endpoint"]["model_names"].each(), *given["model_names"].each())]
    loads = given["loadgen"].settings(("concurrency", "request_rate", "request_count"))
    return Workload("-".join(named) or "aiperf", arguments=loads)
