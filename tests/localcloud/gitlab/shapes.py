"""Narrowing of values that came from JSON or YAML."""

from typing import Any, TypeGuard

Tree = dict[str, Any]


def is_tree(value: object) -> TypeGuard[Tree]:
    """Whether a value is a mapping."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def tree(value: object) -> Tree:
    """A mapping as it is, anything else as an empty one."""
    return value if is_tree(value) else {}


def as_list(value: Any) -> list[Any]:
    """A list as it is, nothing as an empty list, anything else as a list of one."""
    if value is None:
        return []
    return value if is_list(value) else [value]
