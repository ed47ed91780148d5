"""The article's inference test: a small decoder with random weights, on the GPU or in plain Python.

`python tests/benchmark_inference.py` prints its figures; `shadow-perfgate` calls `load()` and measures its
result.
"""

import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

VOCABULARY, WIDTH, LAYERS = 128, 32, 2
Generate = Callable[[list[str], int], Iterator[list[int]]]


def load() -> Generate:
    """Return `generate(prompts, output_tokens)`, which yields one token per prompt for every step."""
    try:
        import torch
    except ImportError:
        return plain()
    return on_gpu(torch) if torch.cuda.is_available() else plain()


def plain() -> Generate:
    """Return a decoder in plain Python."""
    rng = random.Random(7)
    weights = [
        [[rng.gauss(0, 1 / math.sqrt(WIDTH)) for _ in range(WIDTH)] for _ in range(WIDTH)]
        for _ in range(LAYERS)
    ]

    def step(state: list[float], token: int) -> list[float]:
        state = [value + (token % (place + 2)) / WIDTH for place, value in enumerate(state)]
        for layer in weights:
            state = [math.tanh(sum(a * b for a, b in zip(row, state, strict=True))) for row in layer]
        return state

    def generate(prompts: list[str], output_tokens: int) -> Iterator[list[int]]:
        tokens = [len(prompt) % VOCABULARY for prompt in prompts]
        states = [[0.0] * WIDTH for _ in prompts]
        for _ in range(output_tokens):
            states = [step(state, token) for state, token in zip(states, tokens, strict=True)]
            tokens = [int(abs(sum(state)) * 1e6) % VOCABULARY for state in states]
            yield tokens

    return generate


def on_gpu(torch: Any) -> Generate:
    """Return a decoder on the GPU."""
    torch.manual_seed(7)
    cells = torch.nn.GRU(WIDTH, WIDTH, LAYERS).cuda()
    embedding = torch.nn.Embedding(VOCABULARY, WIDTH).cuda()

    def generate(prompts: list[str], output_tokens: int) -> Iterator[list[int]]:
        with torch.inference_mode():
            tokens = torch.tensor([len(prompt) % VOCABULARY for prompt in prompts], device="cuda")
            state = None
            for _ in range(output_tokens):
                hidden, state = cells(embedding(tokens)[None], state)
                tokens = (hidden[-1] @ embedding.weight.T).argmax(-1)
                yield tokens.tolist()

    return generate


def main() -> None:
    """Print latency and throughput of five passes after one that warms up."""
    generate, prompts, count = load(), ["The quick brown fox", "A lazy dog"], 16
    list(generate(prompts, count))
    per_token: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        list(generate(prompts, count))
        per_token.append((time.perf_counter() - began) / count * 1000)
    latency = statistics.median(per_token)
    figures = {"latency_ms_per_token": latency, "throughput_tokens_per_s": len(prompts) * 1000 / latency}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
