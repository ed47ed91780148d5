"""Faults of a configuration, told with key, value, expectation and remedy."""

import difflib
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, cast, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

_EXPECTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number, or one with a unit such as 15m",
    "float_parsing": "a number, or one with a unit such as 15m",
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "a text that matches {pattern}",
    "literal_error": "one of {expected}",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "finite_number": "a finite number",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the file."""

    key: str
    """Path of the key, such as `pools[0].max`."""
    got: str
    """What stands there, such as `got 0` or `missing`."""
    expected: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.key}: {self.got}, expected {self.expected}; {self.remedy}"


class ConfigError(Exception):
    """The configuration is unusable; the message lists every fault."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        lines = [f"  {fault}" for fault in faults]
        super().__init__("\n".join([f"{source} has {len(faults)} fault(s):", *lines]))


def from_pydantic(details: ErrorDetails, root: type[BaseModel]) -> Fault:
    """Put an error of pydantic into the words of the file's reader."""
    key = path(details["loc"])
    if details["type"] == "extra_forbidden":
        return _unknown(details["loc"], root)
    description = _description(details["loc"], root)
    if details["type"] == "missing":
        return Fault(key, "missing", "a value", f"add it: {description}")
    hidden = details["type"].startswith("secret_")
    got = "got a value that is not shown" if hidden else f"got {shown(details['input'])}"
    return Fault(key, got, _expectation(details), f"change it: {description}")


def path(loc: Sequence[int | str]) -> str:
    """Return a key's path as the reader would write it."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "(top)"


def shown(value: object) -> str:
    """Return a value for a message: short, and no key that was pasted in the wrong place."""
    if isinstance(value, Mapping | list | tuple):
        return f"{type(cast('object', value)).__name__} of {len(cast('Sized', value))}"
    text = repr(value)
    plain = len(text) <= 60 and "PRIVATE KEY" not in text
    return text if plain else f"a value of {len(str(value))} characters"


def _expectation(details: ErrorDetails) -> str:
    template = _EXPECTED.get(details["type"])
    if template is None:
        return details["msg"].removeprefix("Value error, ").removeprefix("expected ")
    return template.format(**details.get("ctx", {}))


def _unknown(loc: Sequence[int | str], root: type[BaseModel]) -> Fault:
    owner = _owner(loc, root)
    names = list(owner.model_fields) if owner else []
    close = difflib.get_close_matches(str(loc[-1]), names, n=1, cutoff=0.6)
    remedy = f"did you mean {close[0]!r}?" if close else "remove it"
    return Fault(path(loc), "unknown key", f"one of {', '.join(names)}", remedy)


def _description(loc: Sequence[int | str], root: type[BaseModel]) -> str:
    while loc:
        owner = _owner(loc, root)
        field = owner.model_fields.get(str(loc[-1])) if owner else None
        if field is not None and field.description:
            return field.description.strip().replace("\n", " ")
        loc = loc[:-1]
    return "see the reference of the configuration"


def _owner(loc: Sequence[int | str], root: type[BaseModel]) -> type[BaseModel] | None:
    model: type[BaseModel] | None = root
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part) if model else None
        model = _model_in(field.annotation) if field else None
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(part) for part in get_args(annotation))
    return next((model for model in found if model), None)
