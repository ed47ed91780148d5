"""The benchmark compares like with like: both of its programs declare the same resources."""

import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shadow_gpu_runners.testing import Registration, record

PROGRAMS = Path(__file__).parents[3] / "benchmarks" / "groups"


def computed(resource: Registration) -> Mapping[str, Any]:
    return {"allFixedIps": ["10.7.0.7"]} if resource.type.endswith(":Port") else {}


def declared(program: str) -> list[tuple[str, dict[str, Any]]]:
    path = str(PROGRAMS / program / "__main__.py")
    recording = record(lambda: runpy.run_path(path) and None, outputs=computed)
    found = [
        (known.type, _without_mark(known.inputs))
        for known in recording.resources
        if known.custom and not known.type.startswith("pulumi:")
    ]
    return sorted(found, key=lambda known: (known[0], known[1]["name"]))


def _without_mark(inputs: Mapping[str, Any]) -> dict[str, Any]:
    # Logical names differ, and so do the IDs that the recording makes of them.
    own = ("metadata", "tags", "networks", "schedulerHints")
    return {key: value for key, value in inputs.items() if key not in own} | {
        key: key in inputs for key in own
    }


def test_both_programs_declare_the_same_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOUD", "REGION", "NETWORK", "SECURITY_GROUP", "IMAGE", "FLAVOR"):
        monkeypatch.setenv(name, name.lower())
    monkeypatch.setenv("GROUPS", "2")
    assert len(declared("bare")) == 6
    assert declared("bare") == declared("components")
