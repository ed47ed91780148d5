"""Results of `vllm bench serve` (also several appended to one file) and `vllm bench latency`.

Summaries are in ms, the arrays of detailed results in seconds. An empty list of latencies is summarised as 0,
which is refused.
"""

from statistics import median
from typing import Final

from shadow_perfgate.errors import InputError
from shadow_perfgate.imports.build import present, session
from shadow_perfgate.imports.node import Node
from shadow_perfgate.model import Session, Workload

STEMS: Final = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el"}
SETTINGS: Final = ("backend", "tokenizer_id", "request_rate", "burstiness", "max_concurrency", "num_prompts")


def fits(document: Node) -> bool:
    """Tell whether `document` looks like a result of vLLM."""
    return document.has("output_throughput") or document.has("avg_latency", "latencies")


def read(document: Node) -> list[Session]:
    """Return the session of one result."""
    return [_latency(document) if document.has("avg_latency") else _serve(document)]


def _serve(document: Node) -> Session:
    completed = int(document["completed"].needed())
    if not completed:
        raise InputError(f"{document.source}: completed is 0, expected answered requests; is the server up?")
    summaries = {
        f"{ours}_{kind}": document[f"{kind}_{theirs}_ms"]
        for ours, theirs in STEMS.items()
        for kind in ("median", "p95", "p99")
    }
    rates = {
        "output_tps": document["output_throughput"],
        "req_tps": document["request_throughput"],
        "errors": document["failed"],
        "output_tokens": document["total_output_tokens"],
    }
    prompts = int(document["num_prompts"].needed())
    name = document["model_id"].text("vllm")
    return session(
        "vllm",
        document.source,
        Workload(name, prompts=prompts, arguments=document.settings(SETTINGS)),
        present(summaries | rates),
        requests=completed,
        samples=_samples(document),
    )


def _samples(document: Node) -> dict[str, tuple[float, ...]]:
    first = document["ttfts"].numbers()
    gaps = [gap for row in document["itls"].each() for gap in row.numbers()][:2000]
    found = {"ttft": first, "itl": gaps}
    return {kind: tuple(value * 1000 for value in values) for kind, values in found.items() if values}


def _latency(document: Node) -> Session:
    values = [value * 1000 for value in document["latencies"].numbers()]
    return session(
        "vllm",
        document.source,
        Workload("latency"),
        {"e2e_median": median(values)} if values else {},
        requests=len(values),
        samples={"e2e": tuple(values)},
        notes=("iterations of one process: noise between processes is not in them",),
    )
