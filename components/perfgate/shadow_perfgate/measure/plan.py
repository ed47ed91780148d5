"""One configured workload, as the worker needs it and as stores name it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from shadow_perfgate import masking
from shadow_perfgate.engines.base import EngineSettings, Request
from shadow_perfgate.measure.prompts import PromptSet
from shadow_perfgate.model import Workload


@dataclass(frozen=True, slots=True)
class WarmUpLimits:
    """When a workload counts as steady: the last `agreeing` passes' medians lie within `tolerance`."""

    least: int = 1
    """Passes dropped at least, however steady they look."""
    most: int = 8
    agreeing: int = 3
    tolerance: float = 0.02
    """Largest over smallest median, minus one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one fresh process does: load, warm up, timed passes, then the leak batches."""

    name: str
    engine: str
    """`callable`, `transformers`, `openai` or `command`."""
    options: Mapping[str, object]
    """The engine's own table."""
    prompts: PromptSet
    batch: int = 1
    input_tokens: int = 0
    """Exact prompt length for engines that tokenize here; 0 keeps the prompts as they are."""
    output_tokens: int = 128
    passes: int = 5
    seed: int = 0
    warmup: WarmUpLimits = field(default_factory=WarmUpLimits)
    quiet: str = "eager"
    """`eager`, `graphs` or `compile`, for engines that know them."""
    cores: int = 0
    """Processor cores to pin the worker to; 0 leaves it free."""
    gpu_time: bool = True
    """Profile one batch after the timed passes for the GPU's own time."""
    leak_batches: int = 0
    """Batches after the timed passes whose quiescent memory feeds the leak test (60 or more)."""
    timeout_s: float = 900.0
    preload: tuple[str, ...] = ()
    """Packages imported once and forked from, for runs that spend most of their time importing."""
    python: str = ""
    """Interpreter of the measured code, relative to the checkout; empty for the tool's own."""

    def requests(self) -> tuple[Request, ...]:
        """Return one request per prompt."""
        return tuple(
            Request(key, text, self.input_tokens, self.output_tokens) for key, text in self.prompts.prompts
        )

    def settings(self) -> EngineSettings:
        """Return what the engine is told."""
        return EngineSettings(self.options, self.batch, self.seed, self.quiet)

    def workload(self) -> Workload:
        """Return the identity under which sessions are stored and compared."""
        shape = {
            "batch": self.batch,
            "input_tokens": self.input_tokens,
            "passes": self.passes,
            "quiet": self.quiet,
            "cores": self.cores,
            "leak_batches": self.leak_batches,
        }
        return Workload(
            name=self.name,
            engine=self.engine,
            dataset_sha256=self.prompts.sha256,
            prompts=len(self.prompts.prompts),
            output_tokens=self.output_tokens,
            seed=self.seed,
            arguments={
                **{key: str(value) for key, value in shape.items()},
                **{
                    f"{self.engine}.{key}": _plain(value)
                    for key, value in self.options.items()
                    if key != "api_key_env"
                },
            },
        )


def _plain(value: object) -> str:
    if isinstance(value, list):
        value = masking.words(list(map(str, cast("list[object]", value))))
    return masking.mask(value if isinstance(value, str) else json.dumps(value, sort_keys=True))
