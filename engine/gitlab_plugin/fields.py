"""Properties of a resource type: names on both sides, type, and what a change of one does."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

FieldType = Literal["string", "integer", "boolean", "strings", "pairs"]
"""Wire types; `strings` is an unordered list, `pairs` a list of objects with `key` and `value`."""

_PYTHON_TYPES: Final[dict[FieldType, type]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "strings": list,
    "pairs": list,
}


def snake(name: str) -> str:
    """The GitLab API's spelling of a camelCase property name."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


@dataclass(frozen=True, slots=True)
class Field:
    """One property of a resource type."""

    name: str
    """camelCase name that programs and state use."""
    type: FieldType = "string"
    api: str = ""
    """Name in GitLab's requests and answers; the snake_case name when left out."""
    answered_as: str = ""
    """Name in answers where it differs from the one in requests."""
    required: bool = False
    replace: bool = False
    """A change makes a new object instead of an update."""
    secret: bool = False
    """GitLab gives or takes a secret here: always marked secret in state."""
    output_only: bool = False
    unread: bool = False
    """GitLab never answers with the value, so state keeps what was sent."""
    create_only: bool = False
    """Sent when the object is made, ignored afterwards."""
    local: bool = False
    """Steers this plugin, never sent to GitLab."""
    default: str | int | bool | None = None
    """Value in force when a program leaves the property out; None: GitLab decides."""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    max_length: int | None = None

    @property
    def request_name(self) -> str:
        """Key in a request to GitLab."""
        return self.api or snake(self.name)

    @property
    def answer_name(self) -> str:
        """Key in an answer of GitLab."""
        return self.answered_as or self.request_name

    def cast(self, value: Any) -> Any:
        """The value as GitLab's API and state hold it (numbers arrive as floats over gRPC)."""
        if value is None:
            return None
        if self.type == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        if self.type == "string" and isinstance(value, float | int) and not isinstance(value, bool):
            return str(int(value)) if float(value).is_integer() else str(value)
        return value

    def fits(self, value: Any) -> bool:
        """Whether a cast value has this property's type."""
        if isinstance(value, bool) and self.type != "boolean":
            return False
        return isinstance(value, _PYTHON_TYPES[self.type])

    def same(self, left: Any, right: Any) -> bool:
        """Whether two values mean the same to GitLab: lists are compared without order."""
        if self.type in {"strings", "pairs"}:
            return sorted(map(str, left or [])) == sorted(map(str, right or []))
        return bool(self.cast(left) == self.cast(right))
