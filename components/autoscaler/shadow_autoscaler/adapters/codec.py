"""Rows: the core's values as JSON text, readable by later and, where nothing new is used, earlier versions.

A field that a row lacks takes its default, a field that this version does not know is left out. A new field
without a default, a renamed one or a value with a new meaning needs a migration of the store.
"""

import json
from typing import Any, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.intents import Intent

T = TypeVar("T")

INTENTS: dict[str, type[Intent]] = {kind.__name__: kind for kind in get_args(Intent)}
"""Every intent by the name under which the outbox keeps it."""


def encode(value: object) -> str:
    """Return a dataclass as compact JSON with sorted keys."""
    # json writes infinities, which pydantic's own JSON turns to null.
    return json.dumps(_adapter(type(value)).dump_python(value), separators=(",", ":"), sort_keys=True)


def decode(kind: type[T], text: str | bytes) -> T:
    """Read what `encode` wrote; `PortError` (CONFIG) for a row that this version cannot read."""
    try:
        value: T = _adapter(kind).validate_json(text)
    except ValidationError as error:
        raise _unreadable(kind.__name__, error) from error
    return value


def encode_intent(intent: Intent) -> tuple[str, str]:
    """Return an intent's name and its JSON."""
    return type(intent).__name__, encode(intent)


def decode_intent(name: str, text: str | bytes) -> Intent:
    """Read an intent; `PortError` (CONFIG) for one that this version does not know."""
    kind = INTENTS.get(name)
    if kind is None:
        reason = f"the store holds an intent {name!r} that this version does not know; run the newer version"
        raise PortError(Failure(FailureKind.CONFIG, reason))
    return decode(kind, text)


def _unreadable(name: str, error: ValidationError) -> PortError:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    reason = f"the store holds a {name} that this version cannot read: {place}: {fault['msg']}"
    return PortError(Failure(FailureKind.CONFIG, f"{reason}; run the version that wrote it"[:300]))


_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]
