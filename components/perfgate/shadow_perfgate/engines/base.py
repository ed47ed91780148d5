"""The port between the worker and what it measures; standard library only, as it runs beside user code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt of the data set, with the fixed number of tokens to generate."""

    id: str
    prompt: str
    input_tokens: int
    """Exact prompt length in tokens for engines that tokenize here; 0 leaves the prompt as it is."""
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one request; times are `time.monotonic_ns`, which other processes can place."""

    sent_ns: int
    token_ns: tuple[int, ...] = ()
    """When each token (or streamed chunk) arrived; empty when the engine does not stream."""
    done_ns: int = 0
    output_tokens: int = 0
    output: str = ""
    """Token ids or text, for the digest."""
    error: str = ""
    input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine is told, besides its own options."""

    options: Mapping[str, object]
    """The engine's own table of the configuration."""
    batch: int
    """Requests at the same time."""
    seed: int
    quiet: str
    """`eager`, `graphs` or `compile`."""


class Engine(Protocol):
    """Loads a model and serves batches of requests."""

    def load(self) -> None:
        """Make ready; the time counts as `start_time`."""
        ...

    def serve(self, requests: Sequence[Request], after_batch: Callable[[], None]) -> list[Reply]:
        """Answer all requests, `batch` at a time, and call `after_batch` when none is in flight."""
        ...

    def figures(self) -> dict[str, float]:
        """Return what only the engine knows, by canonical metric, after the timed passes."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the figures should know about this engine's way of measuring."""
        ...

    def close(self) -> None:
        """Unload the model."""
        ...


def batches(requests: Sequence[Request], size: int) -> list[Sequence[Request]]:
    """Return the requests in groups of `size`, the last of which may be smaller."""
    return [requests[start : start + size] for start in range(0, len(requests), size)]
