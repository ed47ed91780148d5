"""A place in a foreign JSON document, for reading files of which any part may be missing."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import cast

from shadow_perfgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it is; what is not there is an empty node."""

    value: object
    source: str
    path: str = ""

    def __getitem__(self, key: str) -> "Node":
        return Node(self._table().get(key), self.source, f"{self.path}.{key}".lstrip("."))

    def _table(self) -> dict[str, object]:
        value = self.value
        if not isinstance(value, dict):
            return {}
        return cast("dict[str, object]", value)

    def has(self, *keys: str) -> bool:
        """Tell whether this is an object with all `keys`."""
        return self._table().keys() >= set(keys)

    def only(self, keys: Iterable[str]) -> dict[str, "Node"]:
        """Return those of `keys` that are there."""
        return {key: self[key] for key in keys if key in self._table()}

    def each(self) -> list["Node"]:
        """Return the items of a list."""
        value = self.value
        if not isinstance(value, list):
            return []
        items = cast("list[object]", value)
        return [Node(item, self.source, f"{self.path}[{place}]") for place, item in enumerate(items)]

    def number(self) -> float | None:
        """Return the number here, or None."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return None
        try:
            return float(self.value)
        except OverflowError:
            return inf

    def needed(self) -> float:
        """Return the number here; raise `InputError` when there is none."""
        found = self.number()
        if found is None:
            raise InputError(
                f"{self.source}: {self.path}: got {self.value!r}, expected a number; "
                "the file is not as its tool writes it: write it again"
            )
        return found

    def numbers(self) -> list[float]:
        """Return the numbers of a list."""
        return [item.needed() for item in self.each()]

    def text(self, default: str = "") -> str:
        """Return the text here, or `default`."""
        return self.value if isinstance(self.value, str) and self.value else default

    def settings(self, keys: Iterable[str] = ()) -> dict[str, str]:
        """Return the scalars of an object (those of `keys`, or all) as text."""
        chosen = self.only(keys or self._table())
        return {
            key: str(node.value) for key, node in chosen.items() if isinstance(node.value, str | int | float)
        }
