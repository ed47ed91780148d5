"""One job of a CI file, normalised: what is stored for it and later sent to a runner."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Variable:
    """A CI variable; `raw` values aren't expanded, `public` ones may be shown."""

    key: str
    value: str
    public: bool = True
    masked: bool = False
    raw: bool = False
    file: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """A `needs` entry."""

    job: str
    artifacts: bool = True
    optional: bool = False


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job before rules are applied. Durations are in seconds."""

    name: str
    stage: str
    script: list[str]
    before_script: list[str] = field(default_factory=list[str])
    after_script: list[str] = field(default_factory=list[str])
    image: dict[str, Any] | None = None
    services: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tags: list[str] = field(default_factory=list[str])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    needs: list[Need] | None = None
    dependencies: list[str] | None = None
    artifacts: dict[str, Any] = field(default_factory=dict[str, Any])
    cache: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    rules: list[dict[str, Any]] | None = None
    only: dict[str, Any] | None = None
    except_: dict[str, Any] | None = None
    when: str = "on_success"
    allow_failure: bool = False
    allow_exit_codes: list[int] = field(default_factory=list[int])
    retry_max: int = 0
    retry_when: list[str] = field(default_factory=lambda: ["always"])
    retry_exit_codes: list[int] = field(default_factory=list[int])
    timeout_s: int | None = None
    environment: dict[str, Any] | None = None
    interruptible: bool = False
    coverage: str | None = None
    node_index: int | None = None
    node_total: int = 1


@dataclass(frozen=True, slots=True)
class CiConfig:
    """A CI file without faults: stages in order, global variables, workflow and jobs."""

    stages: list[str]
    variables: dict[str, Variable]
    jobs: list[JobSpec]
    workflow_rules: list[dict[str, Any]] | None = None
    workflow_name: str | None = None
    warnings: list[str] = field(default_factory=list[str])
