"""Typed reading of request bodies, with GitHub's 422 texts."""

from localcloud.github.errors import missing_key, wrong_type
from localcloud.github.store import Doc, as_list


def text(body: Doc, name: str, default: str | None = None) -> str:
    """A string; required where no default is given."""
    value = _value(body, name, default)
    if not isinstance(value, str):
        raise wrong_type(name, value, "a string")
    return value


def choice(body: Doc, name: str, allowed: tuple[str, ...], default: str) -> str:
    """One of some strings."""
    value = text(body, name, default)
    if value not in allowed:
        raise wrong_type(name, value, f"a member of {list(allowed)}")
    return value


def flag(body: Doc, name: str, *, default: bool) -> bool:
    """A boolean."""
    value = _value(body, name, default)
    if not isinstance(value, bool):
        raise wrong_type(name, value, "a boolean")
    return value


def integer(body: Doc, name: str) -> int:
    """A required whole number."""
    value = _value(body, name, None)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(name, value, "an integer")
    return value


def integers(body: Doc, name: str, default: list[int] | None = None) -> list[int]:
    """A list of whole numbers."""
    value = _value(body, name, default)
    items = as_list(value)
    if items is None or not all(type(item) is int for item in items):
        raise wrong_type(name, value, "an array of integers")
    return [item for item in items if isinstance(item, int)]


def texts(body: Doc, name: str, default: list[str] | None = None) -> list[str]:
    """A list of strings."""
    value = _value(body, name, default)
    items = as_list(value)
    if items is None or not all(isinstance(item, str) for item in items):
        raise wrong_type(name, value, "an array of strings")
    return [str(item) for item in items]


def _value(body: Doc, name: str, default: object) -> object:
    value: object = body.get(name)
    if value is not None:
        return value
    if default is None:
        raise missing_key(name)
    return default
