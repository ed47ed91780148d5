"""What the rules look at and what they answer; needs nothing but Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

Level = Literal["mandatory", "advisory"]


class _Hidden:
    """A value that the rules cannot see."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def __repr__(self) -> str:
        return self.why


UNKNOWN: Final = _Hidden("only known after `pulumi up`")
"""A value that some resource has yet to produce."""
SECRET: Final = _Hidden("a secret, which the preview's JSON blinds")
"""A value that `pulumi preview --json` does not print; the policy pack itself sees it."""

_UNKNOWN_TEXTS: Final = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""How the engine writes an unknown string, boolean, number, array and object."""
_SECRET_KEY: Final = "4dabf18193072939515e22adb298388d"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as it will be."""

    urn: str
    type: str
    props: Mapping[str, Any]
    """Inputs by camelCase name; what cannot be seen is UNKNOWN or SECRET."""

    @property
    def name(self) -> str:
        """Logical name."""
        return self.urn.split("::", 3)[-1]


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer of a rule."""

    rule: str
    urn: str
    message: str
    level: Level
    checked: bool = True
    """False when a value could not be seen: neither right nor wrong, and said instead of passed over."""


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A rule's answer where it cannot decide."""

    what: str
    value: object

    def __str__(self) -> str:
        return f"not checked: {self.what} is {self.value!r}"


Answers = Iterable[str | Unchecked]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about one resource."""

    name: str
    description: str
    level: Level
    check: Callable[[Resource, Mapping[str, Any]], Answers]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """JSON schema of the options that the rule takes beside `allow`."""


@dataclass(frozen=True, slots=True)
class StackRule:
    """A rule about all resources together."""

    name: str
    description: str
    level: Level
    check: Callable[[Sequence[Resource], Mapping[str, Any]], Answers]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def allowed(resource: Resource, options: Mapping[str, Any]) -> bool:
    """Whether the rule's `allow` list (patterns of logical names) excepts the resource."""
    return any(fnmatchcase(resource.name, pattern) for pattern in options.get("allow", ()))


def visible(value: Any) -> Any:
    """A property value with unknown and blinded parts replaced by UNKNOWN and SECRET."""
    if isinstance(value, Mapping):
        if _SECRET_KEY in value:
            return SECRET
        return {key: visible(item) for key, item in value.items() if not str(key).startswith("__")}
    if isinstance(value, list | tuple):
        return [visible(item) for item in value]
    if value in _UNKNOWN_TEXTS:
        return UNKNOWN
    return SECRET if value == "[secret]" else value


def hidden(value: object) -> bool:
    """Whether a value cannot be seen."""
    return value is UNKNOWN or value is SECRET
