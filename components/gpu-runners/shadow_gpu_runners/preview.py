"""Reads `pulumi preview --json --show-sames`: each resource before and after, told from its steps."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from shadow_gpu_runners import _preview_shape
from shadow_gpu_runners.urns import name_of

_GONE = frozenset({"delete", "discard", "read-discard"})
_CALL = "run `pulumi preview --json --show-sames`"
_SHOWN = 5


class PreviewError(ValueError):
    """A text is not the digest that `pulumi preview --json` prints."""


@dataclass(frozen=True, slots=True)
class NewVolume:
    """A volume that Nova makes together with a server."""

    size_gib: int
    """Size in GiB; 0 while it is unknown."""

    volume_type: str
    """Volume type; empty for the cloud's default."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as the preview knows it."""

    urn: str
    """Uniform resource name."""

    type: str
    """Type token, for example `openstack:compute/instance:Instance`."""

    inputs: Mapping[str, Any]
    """Inputs by their camelCase names."""

    outputs: Mapping[str, Any]
    """Outputs by their camelCase names; empty for a resource that does not exist yet."""

    @property
    def name(self) -> str:
        """Logical name."""
        return name_of(self.urn)

    def get(self, key: str) -> Any:
        """Return the input `key`, or the output where the input was left to the cloud."""
        found = self.inputs.get(key)
        return self.outputs.get(key) if found is None else found

    def text(self, key: str) -> str:
        """Return `get(key)` when it is a text, else an empty one."""
        found = self.get(key)
        return found if isinstance(found, str) else ""

    def whole(self, key: str) -> int:
        """Return `get(key)` when it is a number, else 0."""
        return _whole(self.get(key))

    def new_volumes(self) -> list[NewVolume]:
        """Return the volumes that a server is made with."""
        devices: Any = self.inputs.get("blockDevices")
        if not isinstance(devices, list):  # a list that is secret or not known yet is a text
            return []
        known = [cast("dict[str, Any]", device) for device in devices if isinstance(device, dict)]  # pyright: ignore[reportUnknownVariableType]
        return [
            NewVolume(_whole(device.get("volumeSize")), str(device.get("volumeType") or ""))
            for device in known
            if device.get("destinationType") == "volume" and device.get("sourceType") != "volume"
        ]


_LARGEST = 10**9
"""More than any size that a cloud gives; beyond it a number is a mistake and counts as not known."""


def _whole(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value <= _LARGEST else 0


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one resource."""

    urn: str
    """Uniform resource name."""

    operation: str
    """`same`, `create`, `update`, `replace`, `delete`, `import`, `read` or another of the engine's words."""

    before: Resource | None
    """The resource as it is; None when it is new."""

    after: Resource | None
    """The resource as it will be; None when it goes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A preview."""

    changes: tuple[Change, ...]
    """One entry for each resource, in the engine's order."""

    unchanged_left_out: int
    """Unchanged resources that the preview does not list; 0 when it was made with `--show-sames`."""

    def before(self) -> list[Resource]:
        """Return the resources that exist now, as far as the preview lists them."""
        return [change.before for change in self.changes if change.before is not None]

    def after(self) -> list[Resource]:
        """Return the resources that will exist, as far as the preview lists them."""
        return [change.after for change in self.changes if change.after is not None]


def read(digest: str | Mapping[str, Any]) -> Plan:
    """Return the plan in a preview's JSON, parsed or as text; raises `PreviewError`.

    Text before the first brace is skipped: with policy packs the engine prints there.
    """
    parsed = _parsed(digest) if isinstance(digest, str) else digest
    if wrong := _preview_shape.faults(parsed):
        more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise PreviewError(f"the preview's JSON is malformed: {'; '.join(wrong[:_SHOWN])}{more}; {_CALL}")
    steps = cast("list[Mapping[str, Any]]", parsed.get("steps") or [])
    listed = sum(1 for step in steps if step.get("op") == "same" and not _is_stack(step))
    summary = cast("Mapping[str, object]", parsed.get("changeSummary") or {})
    # The engine counts the stack itself among the unchanged ones, and lists it always.
    stack = sum(1 for step in steps if step.get("op") == "same" and _is_stack(step))
    return Plan(tuple(_changes(steps)), max(0, _whole(summary.get("same")) - listed - stack))


def _parsed(text: str) -> Mapping[str, Any]:
    start = text.find("{")
    if start < 0:
        raise PreviewError(f"no JSON in the preview's output; {_CALL}")
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:])
    except json.JSONDecodeError as error:
        raise PreviewError(f"the preview's output is not JSON ({error}); {_CALL}") from None
    except RecursionError:
        raise PreviewError(f"the preview's output is nested too deeply to be a preview; {_CALL}") from None
    return cast("Mapping[str, Any]", found)


def _is_stack(step: Mapping[str, Any]) -> bool:
    return "::pulumi:pulumi:Stack::" in str(step.get("urn"))


def _changes(steps: Iterable[Mapping[str, Any]]) -> Iterable[Change]:
    by_urn: dict[str, list[Mapping[str, Any]]] = {}
    for step in steps:
        by_urn.setdefault(str(step.get("urn")), []).append(step)
    for urn, group in by_urn.items():
        # A replacement is up to three steps; its "replace" step has both states.
        operations = [str(step.get("op")) for step in group]
        replaced = any("replace" in word for word in operations)
        operation = "replace" if replaced else operations[-1]
        yield Change(
            urn=urn,
            operation=operation,
            before=_state(group, "oldState"),
            after=None if operation in _GONE else _state(group, "newState"),
        )


def _state(steps: Iterable[Mapping[str, Any]], key: str) -> Resource | None:
    for step in steps:
        state = step.get(key)
        if state:
            return Resource(
                urn=str(step.get("urn")),
                type=str(state.get("type")),
                inputs=state.get("inputs") or {},
                outputs=state.get("outputs") or {},
            )
    return None
