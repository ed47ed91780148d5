"""Canonical metrics: names, units, directions, definitions, so that two tools' numbers are never mixed up.

A definition id changes when the way of measuring does; numbers of different definitions are not compared.
Inter-token latency (`itl`) is the time between two tokens of a request, time per output token (`tpot`) is the
request's time after its first token over the tokens after it, end to end (`e2e`) is sending to last token.
"""

from shadow_perfgate.model import Direction, Kind, MetricSpec

LOWER, HIGHER, EQUAL = Direction.LOWER, Direction.HIGHER, Direction.EQUAL
EXACT = Kind.DETERMINISTIC


def _latencies(prefix: str, what: str) -> list[MetricSpec]:
    return [
        MetricSpec(f"{prefix}_median", "ms", LOWER, title=f"{what}, median"),
        MetricSpec(f"{prefix}_p95", "ms", LOWER, min_requests=100, title=f"{what}, 95th percentile"),
        MetricSpec(f"{prefix}_p99", "ms", LOWER, min_requests=500, title=f"{what}, 99th percentile"),
    ]


def _memory() -> list[MetricSpec]:
    return [
        MetricSpec("peak_vram_allocated", "MiB", LOWER, EXACT, title="peak VRAM, allocated by the allocator"),
        MetricSpec("peak_vram_reserved", "MiB", LOWER, title="peak VRAM, reserved by the allocator"),
        MetricSpec("peak_vram_process", "MiB", LOWER, EXACT, title="peak VRAM of the process tree (NVML)"),
        MetricSpec("peak_vram_device", "MiB", LOWER, title="peak VRAM of the device above idle (NVML)"),
        MetricSpec("model_weights", "MiB", LOWER, EXACT, title="model weights in VRAM"),
        MetricSpec("activation_peak", "MiB", LOWER, EXACT, title="peak of activations in VRAM"),
        MetricSpec("graph_pool", "MiB", LOWER, EXACT, title="CUDA graph pool in VRAM"),
        MetricSpec("kv_cache_tokens", "count", HIGHER, EXACT, title="KV-cache capacity in tokens"),
        MetricSpec("host_ram_peak", "MiB", LOWER, title="peak memory of the host process tree"),
    ]


def _others() -> list[MetricSpec]:
    return [
        MetricSpec("gpu_ms_per_token", "ms", LOWER, title="GPU busy time per token (kernels)"),
        MetricSpec(
            "host_bound_share", "ratio", LOWER, title="share of wall time in which the GPU waits for the host"
        ),
        MetricSpec("output_tps", "tok/s", HIGHER, title="output tokens per second"),
        MetricSpec("prefill_tps", "tok/s", HIGHER, title="prompt tokens per second"),
        MetricSpec("req_tps", "req/s", HIGHER, title="requests per second"),
        MetricSpec("errors", "count", LOWER, Kind.COUNT, title="failed requests"),
        MetricSpec("preemptions", "count", LOWER, Kind.COUNT, title="preempted requests"),
        MetricSpec("output_tokens", "count", EQUAL, Kind.COUNT, title="output tokens in all"),
        MetricSpec("energy_per_token", "J", LOWER, title="energy per output token"),
        MetricSpec("start_time", "s", LOWER, title="time from process start to ready"),
    ]


CANONICAL: dict[str, MetricSpec] = {
    spec.name: spec
    for spec in (
        *_latencies("itl", "inter-token latency"),
        *_latencies("tpot", "time per output token"),
        *_latencies("ttft", "time to first token"),
        *_latencies("e2e", "request end to end"),
        *_memory(),
        *_others(),
    )
}
"""Every metric known by name; others need their unit and direction given with the session."""

DEFAULT_GATED = ("itl_median", "ttft_median", "output_tps", "peak_vram_allocated", "errors")
"""Gated when the configuration names none and the session has them; the rest is observed."""
