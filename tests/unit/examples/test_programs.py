"""Every example declares its resources with the configuration that its Pulumi.yaml gives by default."""

import json
import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import set_all_config

import shadow_gpu_runners
from shadow_gpu_runners.testing import Invocation, Recording, Registration, record

EXAMPLES = Path(__file__).parents[3] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*/__main__.py"))


def answer(call: Invocation) -> Mapping[str, Any]:
    return {"id": "7", "name": call.args.get("name", "one"), "repoId": 7}


def computed(resource: Registration) -> Mapping[str, Any]:
    if resource.type.endswith(":UserRunner"):
        return {"id": "42", "token": "glrt-planted-0123456789"}
    return {"allFixedIps": ["10.20.0.7"]} if resource.type.endswith(":Port") else {}


@cache
def run(program: Path) -> Recording:
    project = yaml.safe_load((program.parent / "Pulumi.yaml").read_text(encoding="utf-8"))
    values: dict[str, str] = {}
    for key, option in project.get("config", {}).items():
        default = option.get("default", "planted-0123456789abcdef" if option.get("secret") else None)
        values[f"{project['name']}:{key}"] = default if isinstance(default, str) else json.dumps(default)
    set_all_config(values, [key for key, value in values.items() if value.startswith("planted")])
    return record(
        lambda: runpy.run_path(str(program)) and None,
        project=project["name"],
        answer=answer,
        outputs=computed,
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.parent.name)
def test_it_declares_a_component_on_a_provider_of_its_own(program: Path) -> None:
    found = run(program).resources
    assert [known for known in found if known.type.startswith("shadow-gpu-runners:index:")]
    assert not [
        known.name for known in found if known.custom and not (known.provider or "provider" in known.type)
    ]


def test_each_component_is_shown_by_a_program_of_its_name() -> None:
    components = {
        name
        for name in shadow_gpu_runners.__all__
        if issubclass(getattr(shadow_gpu_runners, name), pulumi.ComponentResource)
    }
    shown = {
        known.type.rpartition(":")[2]
        for program in PROGRAMS
        for known in run(program).resources
        if known.type.startswith("shadow-gpu-runners:index:")
        and known.type.rpartition(":")[2].lower() == program.parent.name.replace("-", "")
    }
    assert shown == components
