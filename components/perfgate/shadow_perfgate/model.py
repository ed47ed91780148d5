"""What a measurement is: a session holds the runs of one workload on one side; a run is one fresh process.

Values only; reading and writing their JSON is in `shadow_perfgate.codec`. The unit of replication is the run:
the requests inside one are not independent samples. Times are UTC in ISO 8601, memory is MiB, durations are
seconds unless the metric's unit says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from json import dumps
from typing import ClassVar, Final

SCHEMA_VERSION: Final = 1
"""Version of the session's JSON form; a reader refuses newer ones."""

METRICSET_VERSION: Final = 1
"""Part of the baseline's key; raised when canonical metrics are measured in another way."""


_JSON_RULES: Final[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}
"""What the reader of the JSON form (pydantic, in `shadow_perfgate.codec`) refuses beside wrong types."""


class Direction(StrEnum):
    """Which way a metric gets better."""

    LOWER = "lower"
    HIGHER = "higher"
    EQUAL = "equal"


class Kind(StrEnum):
    """How a metric varies between runs, and so which rule decides on it."""

    SAMPLED = "sampled"
    """Noisy: ranks of fresh runs are tested."""
    DETERMINISTIC = "deterministic"
    """The same in every run unless the code changed: medians are compared, with an absolute floor."""
    COUNT = "count"
    """May be zero: compared by an absolute rule, never by a ratio."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """What a metric's numbers mean."""

    __pydantic_config__: ClassVar[dict[str, object]] = _JSON_RULES

    name: str
    """Lower-case words with underscores, for example `itl_median`."""
    unit: str
    """`ms`, `s`, `MiB`, `tok/s`, `req/s`, `count`, `J`, `ratio`, … (`shadow_perfgate.units`)."""
    direction: Direction
    kind: Kind = Kind.SAMPLED
    definition: str = "1"
    """Changes with the way of measuring; different definitions are never compared."""
    min_requests: int = 0
    """Requests per run below which the metric is only observed (percentiles)."""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The machine and software on which numbers are comparable, all keys in clear."""

    __pydantic_config__: ClassVar[dict[str, object]] = _JSON_RULES

    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """For example gpu, memory_mib, mig, power_limit_w, ecc, driver, cuda, clocks, image, torch."""

    @property
    def digest(self) -> str:
        """Return 16 hexadecimal digits naming this fingerprint in stores."""
        return _digest16(dict(self.keys))


@dataclass(frozen=True, slots=True)
class Workload:
    """What was run; two sessions are comparable only when everything here is equal."""

    __pydantic_config__: ClassVar[dict[str, object]] = _JSON_RULES

    name: str
    """Chosen by the user, for example `decode`."""
    engine: str = ""
    """`callable`, `transformers`, `openai`, `command` or `import:<tool>`."""
    dataset_sha256: str = ""
    prompts: int = 0
    """Requests per run."""
    output_tokens: int = 0
    """Output tokens per request, fixed."""
    seed: int = 0
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Sampling parameters, batch, quiet mode, engine arguments: whatever changes the work."""

    @property
    def digest(self) -> str:
        """Return 16 hexadecimal digits naming this workload in stores."""
        parts = [self.name, self.engine, self.dataset_sha256, self.prompts, self.output_tokens, self.seed]
        return _digest16([*parts, dict(self.arguments)])


@dataclass(frozen=True, slots=True)
class Series:
    """Values over time within a run, for plots and for the leak test."""

    __pydantic_config__: ClassVar[dict[str, object]] = _JSON_RULES

    unit: str
    values: tuple[float, ...]
    times_s: tuple[float, ...] = ()
    """Seconds since the run began; empty when the values are numbered passes or batches."""


@dataclass(frozen=True, slots=True)
class Run:
    """One fresh process that ran the workload once after warm-up."""

    __pydantic_config__: ClassVar[dict[str, object]] = _JSON_RULES

    metrics: Mapping[str, float]
    """Metric name to value in the unit of the session's `MetricSpec`."""
    pair: int | None = None
    """Number of the interleaved pair it belongs to; the other arm's run has the same number."""
    position: int | None = None
    """Place in the order in which both arms' runs were made (ABBA: 0, 1, 2, 3)."""
    started: str = ""
    duration_s: float = 0.0
    requests: int = 0
    discarded: str = ""
    """Why the run does not count, for example `throttled: HwThermalSlowdown`; empty when it counts."""
    output_digest: str = ""
    """SHA-256 over the output token ids of the pinned prompts; empty when not checked."""
    series: Mapping[str, Series] = field(default_factory=dict[str, Series])
    """`vram_quiescent` and `host_quiescent` feed the leak test; `vram`, `power`, `sm_clock`, … feed plots."""
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    """Raw values of single requests or steps, by metric stem (`itl`, `ttft`, `e2e`), for plots."""
    conditions: Mapping[str, float] = field(default_factory=dict[str, float])
    """Clocks, temperature, power and the share of time with each clock-event reason during the run."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How the workload became steady before it was measured."""

    __pydantic_config__: ClassVar[dict[str, object]] = _JSON_RULES

    passes: int = 0
    stable: bool = True
    medians: tuple[float, ...] = ()
    """Median of each pass in ms per token."""


@dataclass(frozen=True, slots=True)
class Session:
    """The runs of one workload on one side (base or candidate); immutable once written."""

    __pydantic_config__: ClassVar[dict[str, object]] = _JSON_RULES

    workload: Workload
    runs: tuple[Run, ...]
    metrics: tuple[MetricSpec, ...] = ()
    """Meaning of each metric; canonical metrics may be left out."""
    fingerprint: Fingerprint = field(default_factory=Fingerprint)
    id: str = ""
    """`<UTC time>-<commit>-<random>`, given when the session is stored."""
    created: str = ""
    tool_version: str = ""
    project: str = ""
    branch: str = ""
    commit: str = ""
    merge_base: str = ""
    ci: Mapping[str, str] = field(default_factory=dict[str, str])
    """Provider, job URL, runner id; never a secret."""
    command: tuple[str, ...] = ()
    """What was executed; the values of variables and options that look like secrets are masked."""
    warmup: WarmUp = field(default_factory=WarmUp)
    environment_faults: tuple[str, ...] = ()
    """Why the machine was not fit (foreign process, dirty GPU); any makes the verdict ENVIRONMENT."""
    notes: tuple[str, ...] = ()
    """What a reader of the report should know: VRAM not measured, host-bound, quiet mode."""
    schema_version: int = SCHEMA_VERSION

    @property
    def counted(self) -> tuple[Run, ...]:
        """Return the runs that were not discarded."""
        return tuple(run for run in self.runs if not run.discarded)


def _digest16(value: object) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `value`'s canonical JSON."""
    return sha256(dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]
