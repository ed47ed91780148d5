"""The schema that programs in other languages are checked against."""

import importlib.metadata
import json
from typing import Any, cast

import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi.provider.experimental.schema import generate_schema

from shadow_gpu_runners.plugin import COMPONENTS, NAME


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    found = Analyzer(NAME).analyze(COMPONENTS)
    version = importlib.metadata.version(NAME)
    package = generate_schema(
        NAME,
        version,
        None,
        found["component_definitions"],
        found["type_definitions"],
        list(found["dependencies"]),
    )
    return cast("dict[str, Any]", json.loads(json.dumps(package.to_json())))


def test_every_component_is_served_under_its_token(schema: dict[str, Any]) -> None:
    assert set(schema["resources"]) == {f"{NAME}:index:{known.__name__}" for known in COMPONENTS}
    assert all(resource["isComponent"] for resource in schema["resources"].values())


def test_every_input_output_and_type_is_documented(schema: dict[str, Any]) -> None:
    undocumented = [
        f"{token}.{kind}.{name}"
        for token, resource in {**schema["resources"], **schema["types"]}.items()
        for kind in ("inputProperties", "properties")
        for name, definition in resource.get(kind, {}).items()
        if not definition.get("description")
    ]
    assert not undocumented
    assert all(resource["description"] for resource in schema["resources"].values())


def test_version_is_the_distributions(schema: dict[str, Any]) -> None:
    assert schema["version"] == importlib.metadata.version(NAME) != "0.0.0"


def test_few_inputs_are_required(schema: dict[str, Any]) -> None:
    required = {
        token.rpartition(":")[2]: sorted(resource["requiredInputs"])
        for token, resource in schema["resources"].items()
    }
    assert {name: required[name] for name in ("GpuFlavors", "RunnerImage", "RunnerNetwork", "SshKey")} == {
        "GpuFlavors": ["wanted"],
        "RunnerImage": [],
        "RunnerNetwork": [],
        "SshKey": [],
    }
    assert required["InstanceGroup"] == ["count", "flavor", "imageId", "networkId", "securityGroupIds"]
