"""The stand-in against the installed official SDK: names, types, required inputs, secret outputs."""

import importlib
import inspect
import re
import typing
from typing import Any

import pulumi_gitlab
import pytest
from gitlab_plugin import VERSION, config
from gitlab_plugin.fields import Field
from gitlab_plugin.invoke import FUNCTIONS
from gitlab_plugin.resources import TYPES
from gitlab_plugin.resources.base import ResourceType

KINDS = pytest.mark.parametrize("kind", TYPES.values(), ids=lambda kind: type(kind).__name__)
WORDS = {"string": "str", "integer": "int", "boolean": "bool", "strings": "Sequence", "pairs": "Sequence"}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _parameters(kind: ResourceType, form: str) -> dict[str, inspect.Parameter]:
    name = type(kind).__name__
    module = importlib.import_module(f"pulumi_gitlab.{_snake(name)}")
    signature = inspect.signature(getattr(module, form.format(name)).__init__)
    return {key: value for key, value in signature.parameters.items() if key != "__self__"}


def _wire_names(kind: ResourceType) -> dict[str, str]:
    """snake_case to camelCase, as the SDK itself maps them."""
    name = type(kind).__name__
    module = importlib.import_module(f"pulumi_gitlab.{_snake(name)}")
    source = inspect.getsource(getattr(module, f"_{name}State"))
    renamed = re.findall(
        r'@pulumi\.getter\(name="(\w+)"\)\s+(?:@_utilities\.deprecated\(.*\)\s+)?def (\w+)', source
    )
    return {python: wire for wire, python in renamed}


def _type_fits(field: Field, annotation: Any) -> bool:
    return WORDS[field.type] in str(typing.get_args(annotation)[:1] or annotation)


@KINDS
def test_every_input_exists_in_the_sdk_with_its_type(kind: ResourceType) -> None:
    official, wire = _parameters(kind, "{}Args"), _wire_names(kind)
    by_wire = {wire.get(name, name): parameter for name, parameter in official.items()}
    for field in kind.inputs:
        assert field.name in by_wire
        assert _type_fits(field, by_wire[field.name].annotation), field


@KINDS
def test_every_input_of_the_sdk_is_served_or_refused(kind: ResourceType) -> None:
    wire = _wire_names(kind)
    official = {wire.get(name, name) for name in _parameters(kind, "{}Args")}
    served = {field.name for field in kind.inputs}
    assert served | kind.not_served == official
    assert not served & kind.not_served


@KINDS
def test_required_inputs_are_the_same(kind: ResourceType) -> None:
    wire = _wire_names(kind)
    official = _parameters(kind, "{}Args")
    required = {wire.get(n, n) for n, p in official.items() if p.default is inspect.Parameter.empty}
    assert {field.name for field in kind.inputs if field.required} == required


@KINDS
def test_outputs_beyond_the_inputs_are_the_same(kind: ResourceType) -> None:
    wire = _wire_names(kind)
    official = {wire.get(name, name) for name in _parameters(kind, "_{}State")}
    inputs = {wire.get(name, name) for name in _parameters(kind, "{}Args")}
    assert {field.name for field in kind.fields if field.output_only} == official - inputs


@KINDS
def test_secret_outputs_are_the_same(kind: ResourceType) -> None:
    source = inspect.getsource(getattr(pulumi_gitlab, type(kind).__name__))
    named = re.findall(r"additional_secret_outputs=\[(.*?)\]", source)
    official = set(re.findall(r'"(\w+)"', named[0] if named else ""))
    assert kind.secrets == official - kind.not_served


@KINDS
def test_choices_are_those_of_the_sdk_documentation(kind: ResourceType) -> None:
    documented = getattr(pulumi_gitlab, f"{type(kind).__name__}Args").__init__.__doc__
    wire = _wire_names(kind)
    for name, text in re.findall(r":param pulumi.Input\[.*?\] (\w+): (.*)", documented):
        field = next((f for f in kind.inputs if f.name == wire.get(name, name)), None)
        valid = re.search(r"Valid values are:? ((?:,? ?(?:or )?`\w+`(?: \([^)]*\))?)+)", text)
        if field and valid and field.type == "string":
            assert set(field.choices) == set(re.findall(r"`(\w+)`", valid.group(1))), name


@KINDS
def test_token_is_the_sdk_type(kind: ResourceType) -> None:
    source = inspect.getsource(getattr(pulumi_gitlab, type(kind).__name__))
    assert f"'{kind.token}'" in source or f'"{kind.token}"' in source


def test_defaults_of_hooks_are_documented_ones() -> None:
    for name in ("ProjectHook", "GroupHook"):
        kind = next(k for k in TYPES.values() if type(k).__name__ == name)
        documented = getattr(pulumi_gitlab, f"{name}Args").__init__.__doc__
        wire = _wire_names(kind)
        defaults = {
            wire.get(n, n): v == "true"
            for n, v in re.findall(r"\] (\w+): .*Defaults to `(true|false)`", documented)
        }
        assert {f.name: f.default for f in kind.inputs if f.type == "boolean"} == defaults


def test_provider_configuration_is_known_in_full() -> None:
    signature = inspect.signature(pulumi_gitlab.ProviderArgs.__init__)
    official = {
        re.sub(r"_(\w)", lambda m: m[1].upper(), name) for name in signature.parameters if name != "__self__"
    }
    assert set(config.PROPERTIES) == official


@pytest.mark.parametrize("token", FUNCTIONS)
def test_functions_exist_in_the_sdk(token: str) -> None:
    name = _snake(token.rsplit(":", 1)[-1])
    assert token in inspect.getsource(importlib.import_module(f"pulumi_gitlab.{name}"))


def test_version_is_that_of_the_installed_sdk() -> None:
    assert importlib.metadata.version("pulumi-gitlab") == VERSION
