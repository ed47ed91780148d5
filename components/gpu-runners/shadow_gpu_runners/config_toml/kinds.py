"""What kind of TOML value each option takes, read from the typed model so that the two cannot differ."""

import enum
import functools
import typing
from collections.abc import Callable, Mapping, Sequence

import pulumi


class Kind(enum.Enum):
    """A kind of TOML value, described in words for messages."""

    TEXT = "text (a string)"
    BOOL = "true or false"
    INT = "a whole number"
    TEXTS = "a list of strings"
    INTS = "a list of whole numbers"
    TEXT_TABLE = "a table of strings"
    BOOL_TABLE = "a table of true or false"
    LIST_TABLE = "a table of lists of strings"
    TABLE = "a table"
    TABLES = "a list of tables"


_PLAIN: Mapping[object, Kind] = {
    str: Kind.TEXT,
    bool: Kind.BOOL,
    int: Kind.INT,
    list[str]: Kind.TEXTS,
    dict[str, str]: Kind.TEXT_TABLE,
    dict[str, bool]: Kind.BOOL_TABLE,
    dict[str, list[str]]: Kind.LIST_TABLE,
}


def matches(value: object, kind: Kind) -> bool:
    """Whether `value` is of this kind; whole floats count as whole numbers, as other languages send them."""
    return _MATCHERS[kind](value)


@functools.cache
def of(model: type) -> Mapping[str, Kind]:
    """Return option name to kind of the TypedDict `model`."""
    return {name: _kind(hint) for name, hint in _hints(model).items()}


def required(model: type) -> frozenset[str]:
    """Return the options of `model` that must be given."""
    return typing.cast("frozenset[str]", getattr(model, "__required_keys__", frozenset[str]()))


@functools.cache
def nested(model: type) -> Mapping[str, type]:
    """Return option name to TypedDict of those options of `model` that are tables of their own."""
    found: dict[str, type] = {}
    for name, hint in _hints(model).items():
        plain = _plain(hint)
        inner: object = typing.get_args(plain)[0] if typing.get_origin(plain) in {list, Sequence} else plain
        if isinstance(inner, type) and typing.is_typeddict(inner):
            found[name] = inner
    return found


@functools.cache
def plain(model: type) -> frozenset[str]:
    """Return the options of `model` that take no output anywhere: they decide what the program declares."""
    tables = nested(model)
    return frozenset(n for n, hint in _hints(model).items() if n not in tables and not _has_output(hint))


def _has_output(hint: object) -> bool:
    return typing.get_origin(hint) is pulumi.Output or any(map(_has_output, typing.get_args(hint)))


def _hints(model: type) -> dict[str, object]:
    # pulumi.Input holds the text "Output[T]", which only its own module can resolve.
    return typing.get_type_hints(model, localns={"Output": pulumi.Output, "T": typing.Any})


def _kind(hint: object) -> Kind:
    plain = _plain(hint)
    if plain in _PLAIN:
        return _PLAIN[plain]
    if typing.get_origin(plain) in {list, Sequence}:
        item = _plain(typing.get_args(plain)[0])
        return {str: Kind.TEXTS, int: Kind.INTS}.get(typing.cast("type", item), Kind.TABLES)
    return Kind.TABLE


def _plain(hint: object) -> object:
    """Return T of `pulumi.Input[T]`, or the hint itself."""
    arguments = typing.get_args(hint)
    if any(typing.get_origin(each) is pulumi.Output for each in arguments):
        return arguments[0]
    return hint


def _list_of(value: object, kind: Kind) -> bool:
    return isinstance(value, list) and all(matches(each, kind) for each in typing.cast("list[object]", value))


def _table_of(value: object, kind: Kind) -> bool:
    if not isinstance(value, Mapping):
        return False
    table = typing.cast("Mapping[object, object]", value)
    return all(isinstance(key, str) and matches(each, kind) for key, each in table.items())


def _is_whole(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


_MATCHERS: Mapping[Kind, Callable[[object], bool]] = {
    Kind.TEXT: lambda value: isinstance(value, str),
    Kind.BOOL: lambda value: isinstance(value, bool),
    Kind.INT: _is_whole,
    Kind.TEXTS: lambda value: _list_of(value, Kind.TEXT),
    Kind.INTS: lambda value: _list_of(value, Kind.INT),
    Kind.TEXT_TABLE: lambda value: _table_of(value, Kind.TEXT),
    Kind.BOOL_TABLE: lambda value: _table_of(value, Kind.BOOL),
    Kind.LIST_TABLE: lambda value: _table_of(value, Kind.TEXTS),
    Kind.TABLE: lambda value: isinstance(value, Mapping),
    Kind.TABLES: lambda value: _list_of(value, Kind.TABLE),
}
