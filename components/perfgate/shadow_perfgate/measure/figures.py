"""From replies to figures: latencies in ms, rates per second. Standard library only: the worker uses it.

Sequences of one batch share their step times, so equal rows of times count once for the gaps between tokens.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from shadow_perfgate.engines.base import Reply
from shadow_perfgate.metrics import CANONICAL

MS: Final = 1e6
KEPT: Final = 2000
"""Raw values kept per kind for plots."""


def raw(replies: Iterable[Reply]) -> dict[str, list[float]]:
    """Return the milliseconds of each kind (`itl`, `ttft`, `tpot`, `e2e`) of the replies without error."""
    good = [reply for reply in replies if not reply.error]
    streams = [reply for reply in good if reply.token_ns]
    rows = {(reply.sent_ns, reply.token_ns) for reply in streams}
    gaps = [(b - a) / MS for _, row in sorted(rows) for a, b in pairwise(row)]
    return {
        "itl": gaps,
        "ttft": [(reply.token_ns[0] - reply.sent_ns) / MS for reply in streams],
        "tpot": [per_token(reply) for reply in good if reply.output_tokens > (1 if reply.token_ns else 0)],
        "e2e": [(reply.done_ns - reply.sent_ns) / MS for reply in good],
    }


def per_token(reply: Reply) -> float:
    """Return ms per output token: after the first one when the reply streams, else of the whole request."""
    if reply.token_ns:
        return (reply.done_ns - reply.token_ns[0]) / MS / (reply.output_tokens - 1)
    return (reply.done_ns - reply.sent_ns) / MS / reply.output_tokens


def of_pass(replies: Sequence[Reply]) -> float:
    """Return the ms per token by which warm-up judges a pass."""
    found = raw(replies)
    values = found["itl"] or found["tpot"] or found["e2e"]
    return median(values) if values else float("nan")


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie, interpolated linearly."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def latencies(values: dict[str, list[float]], requests: int) -> dict[str, float]:
    """Return median and, where the number of requests supports them, p95 and p99 of each kind."""
    found: dict[str, float] = {}
    for kind, numbers in values.items():
        if not numbers:
            continue
        found[f"{kind}_median"] = median(numbers)
        for name, share in ((f"{kind}_p95", 0.95), (f"{kind}_p99", 0.99)):
            if requests >= CANONICAL[name].min_requests:
                found[name] = percentile(numbers, share)
    return found


def rates(passes: Sequence[tuple[int, int, Sequence[Reply]]]) -> dict[str, float]:
    """Return tokens, requests, errors and rates of the passes (start ns, end ns, replies)."""
    seconds = sum(end - start for start, end, _ in passes) / 1e9
    good = [reply for _, _, replies in passes for reply in replies if not reply.error]
    failed = sum(1 for _, _, replies in passes for reply in replies if reply.error)
    tokens = sum(reply.output_tokens for reply in good)
    found = {"errors": float(failed), "output_tokens": float(tokens)}
    if good and seconds > 0:
        found |= {"output_tps": tokens / seconds, "req_tps": len(good) / seconds}
    batches = {(r.sent_ns, r.token_ns[0]): 0 for r in good if r.token_ns}
    waiting = sum(first - sent for sent, first in batches) / 1e9
    read = sum(reply.input_tokens for reply in good if reply.token_ns)
    return found | ({"prefill_tps": read / waiting} if read and waiting > 0 else {})


def thinned(values: Sequence[float]) -> tuple[float, ...]:
    """Return at most `KEPT` of the values, evenly chosen."""
    step = max(1, -(-len(values) // KEPT))
    return tuple(round(value, 4) for value in values[::step])
