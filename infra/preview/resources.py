"""The changes that matter to a reader, one per resource."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from preview.digest import Json, Preview, items, part
from preview.nouns import noun, property_words
from preview.secrets import names_secret
from shadow_gpu_runners.urns import name_of

Action = Literal["create", "update", "replace", "delete", "import"]

_ACTIONS: Final[dict[str, Action]] = {
    "create": "create",
    "update": "update",
    "replace": "replace",
    "create-replacement": "replace",
    "delete-replaced": "replace",
    "delete": "delete",
    "import": "import",
    "import-replacement": "import",
}
_HIDDEN_TYPES: Final = ("pulumi:pulumi:Stack", "pulumi:providers:")
_SHOWN_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Reason:
    """A property that differs."""

    words: str
    """Name of the property in words."""
    before: str = ""
    after: str = ""
    """Values, where they are short and no secret."""
    replaces: bool = False

    def __str__(self) -> str:
        return f"{self.words} {self.before} → {self.after}" if self.after else f"{self.words} changes"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one resource."""

    action: Action
    urn: str
    type: str
    noun: str
    reasons: tuple[Reason, ...] = ()
    protected: bool = False
    kept: bool = False
    """Whether the object stays in the cloud although it leaves the stack (`retainOnDelete`)."""

    @property
    def name(self) -> str:
        """Logical name."""
        return name_of(self.urn)


def changes(preview: Preview) -> list[Change]:
    """All changes in the engine's order; components, the stack and providers are left out."""
    found: dict[str, Change] = {}
    for step in preview.steps:
        action = _ACTIONS.get(str(step.get("op")))
        state = part(step, "newState") or part(step, "oldState")
        kind = str(state.get("type"))
        # A component has no object of its own; the streaming form leaves `custom` out for it.
        if action is None or kind.startswith(_HIDDEN_TYPES) or not state.get("custom"):
            continue
        change = _change(action, step, kind)
        known = found.get(change.urn)
        # A replacement is up to three steps; the one that names its reasons is kept.
        if known is None or (change.reasons and not known.reasons):
            found[change.urn] = change
    return list(found.values())


def _change(action: Action, step: Json, kind: str) -> Change:
    old, new = part(step, "oldState"), part(step, "newState")
    state = new or old
    return Change(
        action=action,
        urn=str(step.get("urn")),
        type=kind,
        noun=noun(kind, part(state, "inputs")),
        reasons=tuple(_reasons(step, old, new)) if action in {"update", "replace"} else (),
        protected=bool(old.get("protect")) and action in {"replace", "delete"},
        kept=bool(old.get("retainOnDelete")) and action in {"replace", "delete"},
    )


def _reasons(step: Json, old: Json, new: Json) -> Iterable[Reason]:
    detailed = part(step, "detailedDiff")
    replacing: set[str] = {str(key) for key in items(step, "replaceReasons")}
    paths = list(detailed) or [str(key) for key in items(step, "diffReasons")] or sorted(replacing)
    for path in paths:
        difference = part(detailed, path)
        kind = str(difference.get("kind") or difference.get("diffKind"))
        replaces = kind.endswith("replace") or bool({path, re.split(r"[.\[]", path)[0]} & replacing)
        before, after = _shown(part(old, "inputs"), path), _shown(part(new, "inputs"), path)
        shown = before and after and before != after and not names_secret(path)
        values = (before, after) if shown else ("", "")
        yield Reason(property_words(path), *values, replaces=replaces)


def _shown(inputs: Json, path: str) -> str:
    value: Any = inputs
    for key in path.replace("[", ".").replace("]", "").split("."):
        try:
            value = value[int(key) if isinstance(value, list) else key.strip('"')]
        except (KeyError, IndexError, TypeError, ValueError):
            return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float) or value == "[secret]" or _opaque(str(value)):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _opaque(text: str) -> bool:
    """Long texts, unknown values and UUIDs tell a reader nothing."""
    return not text or len(text) > _SHOWN_CHARS or "\n" in text or (len(text) == 36 and text.count("-") == 4)
