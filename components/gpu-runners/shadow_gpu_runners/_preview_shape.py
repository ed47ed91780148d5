"""Says where a preview's parts are not of the kind that their readers rely on."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

_STATES = ("oldState", "newState")


def faults(digest: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the shape of a preview's JSON, by place; values are not shown."""
    found = [*_each_object(digest, "steps"), *_each_object(digest, "diagnostics")]
    found += _object(digest, "changeSummary", "changeSummary")
    for index, step in enumerate(_items(digest, "steps")):
        if not isinstance(step, Mapping):
            continue
        known = cast("Mapping[str, Any]", step)
        for key in _STATES:
            found += _state(known, key, f"steps[{index}].{key}")
    return found


def _state(step: Mapping[str, Any], key: str, place: str) -> Iterator[str]:
    yield from _object(step, key, place)
    state = step.get(key)
    if isinstance(state, Mapping):
        for part in ("inputs", "outputs"):
            yield from _object(cast("Mapping[str, Any]", state), part, f"{place}.{part}")


def _object(holder: Mapping[str, Any], key: str, place: str) -> Iterator[str]:
    value = holder.get(key)
    if value is not None and not isinstance(value, Mapping):
        yield f"{place} is {_kind(value)}, expected an object"


def _each_object(holder: Mapping[str, Any], key: str) -> Iterator[str]:
    value = holder.get(key)
    if value is not None and not isinstance(value, list):
        yield f"{key} is {_kind(value)}, expected a list"
    for index, item in enumerate(_items(holder, key)):
        if not isinstance(item, Mapping):
            yield f"{key}[{index}] is {_kind(item)}, expected an object"


def _items(holder: Mapping[str, Any], key: str) -> Iterable[object]:
    value = holder.get(key)
    return cast("list[object]", value) if isinstance(value, list) else ()


def _kind(value: object) -> str:
    names: dict[type, str] = {str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return "nothing" if value is None else names.get(type(value), "a list")
