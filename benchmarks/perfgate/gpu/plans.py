"""The plans that the GPU programs share: one model, two quiet modes and a second shape."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import cast

from shadow_perfgate.errors import Faults
from shadow_perfgate.measure import prompts
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.measure.plan_input import plan

HERE = Path(__file__).parent


def base() -> Plan:
    """Return the decode workload in eager mode."""
    faults = Faults("model.toml")
    table = tomllib.loads((HERE / "model.toml").read_text(encoding="utf-8"))["workload"][0]
    found = plan(table, faults, "workload", HERE)
    faults.raise_if_any()
    return cast("Plan", found)


def mode(name: str) -> Plan:
    """Return the plan of `eager`, `pinned`, `graphs`, `compile` or `prefill`."""
    start = base()
    if name == "prefill":
        texts = cast("prompts.PromptSet", prompts.load("prefill-heavy", HERE, Faults("prompts"), "prompts"))
        return replace(start, name=name, prompts=texts, batch=8, input_tokens=2048, output_tokens=4)
    if name == "pinned":
        return replace(start, name=name, cores=4)
    return replace(start, name=name, quiet=name)
