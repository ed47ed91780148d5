"""Input checks: every fault of a resource's inputs at once, and names for resources that have none."""

import difflib
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from gitlab_plugin.fields import Field
from gitlab_plugin.resources.base import ResourceType
from gitlab_plugin.values import UNKNOWN, Properties

Failures = list[tuple[str, str]]
_SUFFIX_HEX: Final = 7


def check(
    kind: ResourceType,
    news: Properties,
    olds: Properties,
    *,
    logical_name: str,
    seed: bytes,
    proposed: str = "",
) -> tuple[Properties, Failures]:
    """The inputs to plan with, and every fault found in them."""
    by_name = {field.name: field for field in kind.inputs}
    values = {
        name: _cast(by_name.get(name), value) for name, value in news.values.items() if value is not None
    }
    if kind.autonamed and "name" not in values:
        values["name"] = proposed or olds.get("name") or _autoname(logical_name, seed)
    failures = _unknown_names(kind, values) + _missing(kind, values)
    for name, value in values.items():
        if name in by_name and value is not UNKNOWN:
            failures += [
                (name, reason) for reason in _value_faults(by_name[name], value, secret=name in news.secrets)
            ]
    return Properties(values, news.secrets), failures + kind.faults(values)


def _cast(field: Field | None, value: Any) -> Any:
    return value if field is None or value is UNKNOWN else field.cast(value)


def _autoname(logical_name: str, seed: bytes) -> str:
    digest = hashlib.sha256(seed + logical_name.encode()).hexdigest()
    return f"{logical_name}-{digest[:_SUFFIX_HEX]}"


def _unknown_names(kind: ResourceType, values: Mapping[str, Any]) -> Failures:
    names = [field.name for field in kind.inputs]
    failures: Failures = []
    for name in values.keys() - set(names):
        if name in kind.not_served:
            failures.append(
                (name, "not served by this stand-in plugin; leave it out or use the official plugin")
            )
            continue
        near = difflib.get_close_matches(name, names, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"expected one of {', '.join(names)}"
        failures.append((name, f"no such property of {kind.token}; {hint}"))
    return sorted(failures)


def _missing(kind: ResourceType, values: Mapping[str, Any]) -> Failures:
    return [
        (field.name, "required, but missing")
        for field in kind.inputs
        if field.required and field.name not in values
    ]


def _value_faults(field: Field, value: Any, *, secret: bool) -> list[str]:
    shown = "[secret]" if secret or field.secret else repr(value)
    if not field.fits(value):
        return [f"{shown} is not of type {field.type}"]
    faults = []
    if field.choices and value not in field.choices:
        faults.append(f"{shown} is not valid; expected one of {', '.join(field.choices)}")
    if field.minimum is not None and value < field.minimum:
        faults.append(f"{shown} is too small; expected at least {field.minimum}")
    if field.max_length is not None and len(value) > field.max_length:
        faults.append(f"{len(value)} characters are too many; expected at most {field.max_length}")
    if field.type == "pairs" and not all(isinstance(item, Mapping) and "key" in item for item in value):
        faults.append(f"{shown} is not valid; expected objects with key and value")
    return faults
