"""Reads what `pulumi preview --json` printed, in its plain and its streaming form."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from preview.errors import InputError
from shadow_gpu_runners import preview as public
from shadow_gpu_runners.urns import name_of

Json = Mapping[str, Any]

_CALL: Final = "run `pulumi preview --json --show-sames`"
_BEGINS: Final = re.compile(r'\{\n    "|\{\s*"(?:config|steps|diagnostics|changeSummary)"\s*:')
_STREAMED: Final = ("preludeEvent", "policyLoadEvent", "resourcePreEvent", "summaryEvent", "diagnosticEvent")


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """A finding that the engine itself reported."""

    policy: str
    urn: str
    message: str
    level: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview, whichever form it came in."""

    steps: tuple[Json, ...]
    """The engine's steps in the digest's form (`op`, `urn`, `oldState`, `newState`, …)."""
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    summary: Mapping[str, int]
    policies: tuple[PolicyResult, ...] = ()
    policies_ran: bool = False
    """Whether the engine reported on policies, which only the streaming form shows."""
    failed: bool = False

    @property
    def stack(self) -> str:
        """`<project>/<stack>`, or an empty text when no step tells."""
        for step in self.steps:
            parts = str(step.get("urn")).split("::")
            if len(parts) > 2:
                return f"{parts[1]}/{parts[0].rpartition(':')[2]}"
        return ""

    @property
    def digest(self) -> dict[str, Any]:
        """The plain form, for readers that know only that one."""
        return {"steps": list(self.steps), "changeSummary": dict(self.summary)}


def part(holder: Json, key: str) -> Json:
    """The mapping under `key`; an empty one where there is none."""
    found: Any = holder.get(key)
    return cast("Json", found) if isinstance(found, Mapping) else {}


def items(holder: Json, key: str) -> list[Any]:
    """The list under `key`; an empty one where there is none."""
    found: Any = holder.get(key)
    return [*cast("Iterable[Any]", found)] if isinstance(found, list) else []


def read(text: str) -> Preview:
    """Read a preview's output; raises InputError with the place and the remedy."""
    objects = list(_objects(text))
    if not objects:
        raise InputError(f"the preview's output holds no JSON; {_CALL}")
    if any(name in found for found in objects for name in _STREAMED):
        streamed = _from_events([_event(found) for found in objects])
        _check(streamed.digest)
        return streamed
    digest = next(
        (found for found in objects if {"steps", "changeSummary", "diagnostics"} & found.keys()), None
    )
    if digest is None:
        raise InputError(f"the JSON is no preview (keys: {', '.join(sorted(objects[0])[:5])}); {_CALL}")
    _check(digest)
    return _from_digest(digest)


def _event(found: Json) -> dict[str, Any]:
    """An event whose bodies are objects, as the engine writes them."""
    wrong = [name for name in (*_STREAMED, "policyEvent") if not isinstance(found.get(name, {}), Mapping)]
    if wrong:
        raise InputError(f"the preview's event {wrong[0]} is no object; {_CALL}")
    return dict(found)


def _check(digest: Json) -> None:
    """Refuse a wrong shape here, since every later reader relies on it."""
    try:
        public.read(digest)
    except public.PreviewError as error:
        raise InputError(str(error)) from None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in the text; lines around them, such as those of policy packs, are skipped."""
    decoder, position = json.JSONDecoder(), 0
    while (start := text.find("{", position)) >= 0:
        try:
            found, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if _BEGINS.match(text, start):
                raise InputError(
                    f"the preview's JSON ends early ({error}); was `pulumi preview` cut short?"
                ) from None
            position = start + 1
            continue
        except RecursionError:
            raise InputError(f"the JSON is nested too deeply to be a preview; {_CALL}") from None
        if isinstance(found, dict):
            yield found


def _from_digest(digest: Json) -> Preview:
    said = [found for found in items(digest, "diagnostics") if not found.get("ephemeral")]
    errors = tuple(_message(found) for found in said if found.get("severity") == "error")
    return Preview(
        steps=tuple(items(digest, "steps")),
        errors=errors,
        warnings=tuple(_message(found) for found in said if found.get("severity") == "warning"),
        summary=part(digest, "changeSummary"),
        failed=bool(errors),
    )


def _from_events(events: list[dict[str, Any]]) -> Preview:
    said = [event["diagnosticEvent"] for event in events if "diagnosticEvent" in event]
    errors = tuple(_message(found) for found in said if found.get("severity") == "error")
    summaries = [event["summaryEvent"] for event in events if "summaryEvent" in event]
    results = [event["policyEvent"] for event in events if "policyEvent" in event]
    return Preview(
        steps=tuple(
            _step(part(event["resourcePreEvent"], "metadata"))
            for event in events
            if "resourcePreEvent" in event
        ),
        errors=errors,
        warnings=tuple(_message(found) for found in said if found.get("severity") == "warning"),
        summary=part(summaries[-1], "resourceChanges") if summaries else {},
        policies=tuple(_policy(result) for result in results),
        policies_ran=bool(results) or any(summary.get("PolicyPacks") for summary in summaries),
        failed=not summaries or summaries[-1].get("result") == "failed",
    )


def _step(metadata: Json) -> dict[str, Any]:
    return {
        "op": metadata.get("op"),
        "urn": metadata.get("urn"),
        "oldState": _seen(metadata, "old"),
        "newState": _seen(metadata, "new"),
        "diffReasons": metadata.get("diffs"),
        "replaceReasons": metadata.get("keys"),
        "detailedDiff": metadata.get("detailedDiff"),
    }


def _seen(metadata: Json, key: str) -> dict[str, Any] | None:
    """A state without the provider's own notes: `__meta` of planned instances has user-data in plain text."""
    state = part(metadata, key)
    if not state:
        return None
    outputs = {name: value for name, value in part(state, "outputs").items() if not name.startswith("__")}
    return {**state, "outputs": outputs}


def _message(diagnostic: Json) -> str:
    place = name_of(str(diagnostic.get("urn") or ""))
    text = str(diagnostic.get("message") or "").strip().removeprefix("error: ").removeprefix("warning: ")
    return f"{place}: {text}" if place else text


def _policy(event: Json) -> PolicyResult:
    message = str(event.get("message") or "").strip()
    return PolicyResult(
        policy=str(event.get("policyName")),
        urn=str(event.get("resourceUrn") or ""),
        message=message.partition("\n")[2] or message,
        level=str(event.get("enforcementLevel")),
    )
