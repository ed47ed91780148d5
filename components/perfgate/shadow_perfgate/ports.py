"""Where deciding and measuring meet.

The command line calls `shadow_perfgate.measure.open_measurer(workload, base, head)` (`base` and `head` are
checkouts), `shadow_perfgate.imports.read(path, tool)` for another tool's result file, and
`shadow_perfgate.templates.render(name, values)` for what `init` writes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shadow_perfgate.model import Session

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much is done and how much there is."""


@dataclass(frozen=True, slots=True)
class WorkloadConfig:
    """One `[[workloads]]` table of perfgate.toml."""

    name: str
    engine: str
    """`callable`, `transformers`, `openai` or `command`."""
    prompts: str = "standard:decode"
    """`standard:decode`, `standard:prefill`, or the path of a JSONL file with one `{"prompt": …}` a line."""
    output_tokens: int = 64
    seed: int = 0
    timeout_s: float = 900.0
    """Longest time of one run, warm-up included."""
    leak_batches: int = 0
    """Batches after which memory is noted for the leak test; 0 for none."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """The table's other keys; the engine checks them."""


class Measurer(Protocol):
    """Measures one workload; each run is a fresh process.

    Raises `MeasureError` when the workload fails, `EnvironmentFaultError` when the machine is not fit.
    """

    def candidate(self, runs: int, progress: Progress) -> Session:
        """Measure the candidate alone, `runs` times, for comparison with a stored baseline."""
        ...

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Measure pairs `first` (inclusive) to `last` (exclusive), order ABBA BAAB…, as (base, candidate).

        Both sessions hold the runs of these pairs only; the gate joins them with earlier looks.
        """
        ...
