"""Comparison of new inputs with the state that was last seen."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gitlab_plugin.fields import Field
from gitlab_plugin.resources.base import ResourceType
from gitlab_plugin.values import UNKNOWN, Properties


@dataclass(frozen=True, slots=True)
class Change:
    """One property that differs."""

    name: str
    kind: str
    """`ADD`, `UPDATE` or `DELETE`."""
    replace: bool


def diff(
    kind: ResourceType, state: Properties, news: Properties, ignored: Collection[str] = ()
) -> list[Change]:
    """Properties whose wanted value is not the one in state.

    A property that a program leaves out keeps what GitLab has, unless it has a default:
    then the default is wanted.
    """
    tops = {path.split(".")[0].split("[")[0] for path in ignored}
    return [
        change
        for field in kind.inputs
        if field.name not in tops and (change := _change(field, state, news)) is not None
    ]


def _change(field: Field, state: Properties, news: Properties) -> Change | None:
    given = news.get(field.name)
    want = field.default if given is None else given
    if want is None or (field.create_only and state.values):
        return None
    have: Any = state.get(field.name, field.default)
    if want is not UNKNOWN and field.same(want, have):
        return None
    kind = "ADD" if have is None else "DELETE" if given is None else "UPDATE"
    return Change(field.name, kind, replace=field.replace)
