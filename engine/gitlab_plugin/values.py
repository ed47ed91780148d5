"""Conversion between the engine's property maps and plain Python values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.runtime.rpc import UNKNOWN as _UNKNOWN_ON_WIRE


class _Unknown:
    """A value that is not known before `up`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = _Unknown()
"""Stands for a value that only `up` will produce."""


@dataclass(frozen=True, slots=True)
class Properties:
    """Plain values by camelCase name, and which of them are secret."""

    values: dict[str, Any]
    secrets: frozenset[str] = frozenset()

    def get(self, name: str, default: Any = None) -> Any:
        """The value of `name`, or `default` where it is missing or null."""
        found = self.values.get(name)
        return default if found is None else found


def from_struct(struct: Struct) -> Properties:
    """Read a property map; internal keys (`__defaults`, `__meta`) are dropped."""
    fields = {k: v for k, v in PropertyValue.unmarshal_map(struct).items() if not k.startswith("__")}
    secrets = frozenset(name for name, value in fields.items() if _has_secret(value))
    return Properties({name: _plain(value) for name, value in fields.items()}, secrets)


def to_struct(properties: Properties, *, secrets: Collection[str] = ()) -> Struct:
    """Write a property map; `secrets` are marked beside those that came in as secret."""
    marked = properties.secrets | set(secrets)
    return PropertyValue.marshal_map(
        {name: _wire(value, secret=name in marked) for name, value in properties.values.items()}
    )


def _plain(value: PropertyValue) -> Any:
    inner = value.value
    if inner == _UNKNOWN_ON_WIRE:
        return UNKNOWN
    if isinstance(inner, Mapping):
        plain = {key: _plain(item) for key, item in inner.items()}
        return UNKNOWN if UNKNOWN in plain.values() else plain
    if isinstance(inner, Sequence) and not isinstance(inner, str):
        items = [_plain(item) for item in inner]
        return UNKNOWN if UNKNOWN in items else items
    if isinstance(inner, float) and inner.is_integer():
        # Every number is a double on the wire; GitLab takes `1`, not `1.0`.
        return int(inner)
    return inner


def _has_secret(value: PropertyValue) -> bool:
    inner = value.value
    if isinstance(inner, Mapping):
        return value.is_secret or any(_has_secret(item) for item in inner.values())
    if isinstance(inner, Sequence) and not isinstance(inner, str):
        return value.is_secret or any(_has_secret(item) for item in inner)
    return value.is_secret


def _wire(value: Any, *, secret: bool = False) -> PropertyValue:
    if value is UNKNOWN:
        return PropertyValue(_UNKNOWN_ON_WIRE, is_secret=secret)
    if isinstance(value, Mapping):
        return PropertyValue({key: _wire(item) for key, item in value.items()}, is_secret=secret)
    if isinstance(value, list):
        return PropertyValue([_wire(item) for item in value], is_secret=secret)
    if isinstance(value, int) and not isinstance(value, bool):
        return PropertyValue(float(value), is_secret=secret)
    return PropertyValue(value, is_secret=secret)
