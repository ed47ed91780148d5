"""What an installed Pulumi SDK package says about its types, to hold plugin schemas against."""

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pulumi import _types


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource class of an SDK, in the words of a schema."""

    inputs: frozenset[str]
    required: frozenset[str]
    outputs: frozenset[str]
    secrets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of an SDK, in the words of a schema."""

    inputs: frozenset[str]
    outputs: frozenset[str]


def resource(package: str, token: str) -> Resource:
    """Return what the SDK knows of the resource with this type token."""
    module, name = _module(package, token)
    cls = getattr(module, name)
    # A nested type may have taken the plain name; the generated code then calls the arguments InitArgs.
    arguments = getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args")
    source = inspect.getsource(cls._internal_init)
    secrets = re.search(r"additional_secret_outputs=\[(.*?)\]", source)
    names = _types.input_type_py_to_pulumi_names(arguments)
    return Resource(
        frozenset(names.values()),
        frozenset(names[key] for key in _mandatory(arguments.__init__)),
        frozenset(_types.resource_py_to_pulumi_names(cls).values()),
        frozenset(re.findall(r'"(\w+)"', secrets[1])) if secrets else frozenset(),
    )


def function(package: str, token: str) -> Function:
    """Return what the SDK knows of the function with this token."""
    module, member = _module(package, token)
    name = _snake(member)
    source = inspect.getsource(getattr(module, name))
    names = re.findall(r"__args__\['(\w+)'\] = ", source)
    result = getattr(module, member[0].upper() + member[1:] + "Result")
    return Function(
        frozenset(names),
        frozenset(_getters(result)),
    )


def _module(package: str, token: str) -> tuple[ModuleType, str]:
    """Find the module that holds a token by what the generated code registers or invokes."""
    root = importlib.import_module(f"pulumi_{package}")
    folder = Path(str(root.__file__)).parent / token.split(":")[1].split("/", 1)[0].replace("index", "")
    member = token.rsplit(":", 1)[1]
    for file in sorted(folder.glob("*.py")):
        if f"'{token}'" in file.read_text(encoding="utf-8"):
            parts = file.with_suffix("").relative_to(Path(str(root.__file__)).parent).parts
            return importlib.import_module(".".join([f"pulumi_{package}", *parts])), member
    raise LookupError(f"pulumi_{package} has no {token}")


def _mandatory(callable_: Any) -> Iterator[str]:
    for parameter in inspect.signature(callable_).parameters.values():
        if parameter.name not in {"__self__", "self"} and parameter.default is inspect.Parameter.empty:
            yield parameter.name


def _getters(cls: type) -> Iterator[str]:
    for name, member in vars(cls).items():
        if isinstance(member, property):
            yield getattr(member.fget, _types._PULUMI_NAME, name)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
