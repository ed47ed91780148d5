"""Create, read, update and delete of one object, with what to do when an answer is lost."""

from collections import defaultdict
from dataclasses import dataclass
from threading import Lock
from typing import Any

from gitlab_plugin.api import Api
from gitlab_plugin.diff import diff
from gitlab_plugin.errors import ApiError, LostAnswerError, PartialError, PluginError
from gitlab_plugin.resources.base import ResourceType, Values
from gitlab_plugin.values import UNKNOWN, Properties


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as GitLab shows it."""

    resource_id: str
    state: dict[str, Any]


class Lifecycle:
    """Runs the calls of all resource types against one GitLab."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)
        self._made: set[str] = set()

    def create(self, kind: ResourceType, inputs: Properties) -> Seen:
        """Make the object. Raises PartialError when it exists but could not be read back."""
        values = inputs.values
        with self._locks[kind.token + kind.create_path(values)]:
            answer = self._created(kind, values)
            resource_id = kind.resource_id(values, answer)
            self._made.add(f"{kind.token}/{resource_id}")
        once = {f.name: answer[f.answer_name] for f in kind.fields if f.output_only and f.unread}
        first = planned(kind, values) | once
        try:
            shown = kind.read(self._api, resource_id)
        except PluginError as error:
            raise PartialError(resource_id, first, str(error)) from error
        return Seen(resource_id, {**first, **kind.observed(shown, resource_id)})

    def _created(self, kind: ResourceType, values: Values) -> Values:
        before = kind.twins(self._api, values).keys()
        try:
            return kind.create(self._api, values)
        except LostAnswerError as lost:
            found = self._new_twins(kind, values, before, lost)
        if found:
            resource_id, twin = next(iter(found.items()))
            return kind.adopt(self._api, resource_id, twin)
        return kind.create(self._api, values)

    def _new_twins(
        self, kind: ResourceType, values: Values, before: Any, lost: LostAnswerError
    ) -> dict[str, Values]:
        try:
            after = kind.twins(self._api, values)
        except PluginError as error:
            raise PluginError(
                f"{lost}. Whether GitLab acted could not be seen either ({error}). Run again."
            ) from lost
        ours = {f"{kind.token}/{key}" for key in after} & self._made
        found = {k: v for k, v in after.items() if k not in before and f"{kind.token}/{k}" not in ours}
        if len(found) > 1:
            raise PluginError(
                f"{lost}. More than one object may be the result: {', '.join(sorted(found))}. "
                f"Remove those that nothing uses, or `pulumi import {kind.token}` the right one, "
                "and run again."
            )
        return found

    def read(self, kind: ResourceType, resource_id: str, state: Properties) -> Seen | None:
        """The object as it is now; None when it is gone."""
        try:
            answer = kind.read(self._api, resource_id)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        if kind.gone(answer):
            return None
        kept = {
            f.name: state.values[f.name]
            for f in kind.fields
            if (f.unread or f.local) and f.name in state.values
        }
        return Seen(resource_id, {**kind.observed(answer, resource_id), **kept})

    def update(
        self, kind: ResourceType, resource_id: str, olds: Properties, news: Properties
    ) -> dict[str, Any]:
        """Send what changed. Raises PartialError when it was sent but could not be read back."""
        changed = {change.name for change in diff(kind, olds, news)}
        kind.update(self._api, resource_id, news.values, changed)
        merged = {**olds.values, **planned(kind, news.values)}
        try:
            return {**merged, **kind.observed(kind.read(self._api, resource_id), resource_id)}
        except PluginError as error:
            raise PartialError(resource_id, merged, str(error)) from error

    def delete(self, kind: ResourceType, resource_id: str, state: Properties) -> None:
        """Remove the object; nothing happens when it is gone already."""
        kind.delete(self._api, resource_id, state.values)


def planned(kind: ResourceType, values: Values) -> dict[str, Any]:
    """State that the inputs and defaults alone give."""
    defaults = {f.name: f.default for f in kind.inputs if f.default is not None}
    return {**defaults, **values}


def previewed(kind: ResourceType, values: Values) -> dict[str, Any]:
    """State of an object that is yet to be made: what GitLab will decide is unknown."""
    unknown = {f.name: UNKNOWN for f in kind.fields if not (f.local or (f.unread and not f.output_only))}
    return {**unknown, **planned(kind, values)}
