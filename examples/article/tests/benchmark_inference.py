"""Runs a small decoder with random weights on the GPU and prints latency, throughput and peak VRAM.

With PyTorch and a GPU the model decodes on the GPU. Where PyTorch is missing (the local cloud has no GPU and
no framework), the same shape of model decodes in plain Python on the CPU, and the output says that VRAM was
not measured.
"""

import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

VOCABULARY, WIDTH, LAYERS, NEW_TOKENS, PASSES = 128, 32, 2, 32, 5


def _matrix(rng: random.Random, rows: int, columns: int) -> list[list[float]]:
    return [[rng.gauss(0, 1 / math.sqrt(columns)) for _ in range(columns)] for _ in range(rows)]


def _times(matrix: list[list[float]], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def plain_decoder(seed: int = 7) -> Callable[[list[int]], Iterator[int]]:
    """Return a greedy decoder: a recurrent stack of `LAYERS` layers, `WIDTH` wide, on the CPU."""
    rng = random.Random(seed)
    embedding = _matrix(rng, VOCABULARY, WIDTH)
    layers = [(_matrix(rng, WIDTH, WIDTH), _matrix(rng, WIDTH, WIDTH)) for _ in range(LAYERS)]

    def decode(prompt: list[int]) -> Iterator[int]:
        states = [[0.0] * WIDTH for _ in range(LAYERS)]
        token = prompt[0]
        for step in range(len(prompt) + NEW_TOKENS):
            hidden = embedding[token]
            for index, (inward, across) in enumerate(layers):
                mixed = zip(_times(inward, hidden), _times(across, states[index]), strict=True)
                hidden = states[index] = [math.tanh(a + b) for a, b in mixed]
            scores = _times(embedding, hidden)
            token = prompt[step] if step < len(prompt) else scores.index(max(scores))
            if step >= len(prompt):
                yield token

    return decode


def torch_decoder(torch: Any) -> tuple[Callable[[list[int]], Iterator[int]], Callable[[], int]]:
    """Return a greedy decoder on the GPU and a function that tells its peak VRAM in bytes."""
    torch.manual_seed(7)
    cells = torch.nn.GRU(WIDTH, WIDTH, LAYERS).cuda()
    embedding = torch.nn.Embedding(VOCABULARY, WIDTH).cuda()

    def decode(prompt: list[int]) -> Iterator[int]:
        with torch.inference_mode():
            hidden, state = cells(embedding(torch.tensor(prompt, device="cuda"))[:, None])
            for _ in range(NEW_TOKENS):
                token = (hidden[-1] @ embedding.weight.T).argmax(-1)
                hidden, state = cells(embedding(token)[None], state)
                yield int(token.item())

    return decode, lambda: int(torch.cuda.max_memory_allocated())


def choose() -> tuple[str, Callable[[list[int]], Iterator[int]], Callable[[], int] | None]:
    """Return (device, decoder, peak VRAM or None) for what this machine offers."""
    try:
        import torch
    except ImportError:
        return "cpu (no PyTorch here: plain Python model, VRAM not measured)", plain_decoder(), None
    if not torch.cuda.is_available():
        return "cpu (PyTorch sees no GPU: plain Python model, VRAM not measured)", plain_decoder(), None
    decode, peak = torch_decoder(torch)
    return torch.cuda.get_device_name(0), decode, peak


def main() -> None:
    """Decode `PASSES` times after one warm-up and print the figures as text and as JSON."""
    device, decode, peak = choose()
    prompt = list(range(1, 17))
    reference = list(decode(prompt))
    per_token: list[float] = []
    for _ in range(PASSES):
        began = time.perf_counter()
        if list(decode(prompt)) != reference:
            raise SystemExit("the decoder gave other tokens than before: wrong results")
        per_token.append((time.perf_counter() - began) / NEW_TOKENS * 1000)
    latency = statistics.median(per_token)
    figures = {
        "device": device,
        "latency_ms_per_token": round(latency, 4),
        "throughput_tokens_per_s": round(1000 / latency, 1),
        "peak_vram_mib": None if peak is None else round(peak() / 2**20, 1),
    }
    print(f"inference of {NEW_TOKENS} tokens on {device}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
