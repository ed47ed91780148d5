"""What a resource type is: its properties, its addresses in the API and how its answers are read."""

from collections.abc import Mapping
from typing import Any, ClassVar

from gitlab_plugin.api import Api, path
from gitlab_plugin.fields import Field

Values = Mapping[str, Any]


class ResourceType:
    """A resource type served by plain create, read, update and delete calls on one address."""

    token: ClassVar[str]
    """Type token, for example `gitlab:index/project:Project`."""
    fields: ClassVar[tuple[Field, ...]]
    collection: ClassVar[str]
    """Address that a new object is posted to; placeholders are property names."""
    item: ClassVar[str]
    """Address of one object; placeholders are `id_parts`."""
    id_parts: ClassVar[tuple[str, ...]] = ("id",)
    """Parts of the resource id, joined by colons; the last ones come from the answer."""
    autonamed: ClassVar[bool] = False
    """Whether `name` is made from the resource's logical name when left out."""
    not_served: ClassVar[frozenset[str]] = frozenset()
    """Inputs of the official plugin that this stand-in refuses instead of ignoring."""

    @property
    def inputs(self) -> tuple[Field, ...]:
        """Properties that a program may set."""
        return tuple(field for field in self.fields if not field.output_only)

    @property
    def secrets(self) -> frozenset[str]:
        """Names of the properties that are secret whatever the program says."""
        return frozenset(field.name for field in self.fields if field.secret)

    def faults(self, inputs: Values) -> list[tuple[str, str]]:
        """Faults that concern several properties together, as (property, reason)."""
        del inputs
        return []

    def create_path(self, inputs: Values) -> str:
        """Address to post a new object to."""
        return path(self.collection, **inputs)

    def item_path(self, resource_id: str) -> str:
        """Address of an existing object. Raises ValueError for a malformed id."""
        parts = resource_id.split(":", len(self.id_parts) - 1)
        if len(parts) != len(self.id_parts) or not all(parts):
            raise ValueError(f"the id {resource_id!r} is not of the form {':'.join(self.id_parts)}")
        return path(self.item, **dict(zip(self.id_parts, parts, strict=True)))

    def resource_id(self, inputs: Values, answer: Values) -> str:
        """Id of the object that an answer describes."""
        return ":".join(str(inputs[part] if part in inputs else answer[part]) for part in self.id_parts)

    def body(self, inputs: Values, names: set[str] | None = None) -> dict[str, Any]:
        """Request body: all properties for a create, those in `names` for an update."""
        return {
            field.request_name: value
            for field in self.inputs
            if not field.local and field.name not in self.id_parts
            if (names is None or (field.name in names and not field.create_only))
            if (value := inputs.get(field.name, field.default)) is not None
        }

    def observed(self, answer: Values, resource_id: str) -> dict[str, Any]:
        """Property values that an answer shows."""
        shown = {
            field.name: field.cast(answer[field.answer_name])
            for field in self.fields
            if not field.local and not field.unread and answer.get(field.answer_name) is not None
        }
        return {**self.from_id(resource_id), **shown}

    def from_id(self, resource_id: str) -> dict[str, Any]:
        """Property values that the id itself carries."""
        names = {field.name for field in self.fields}
        parts = dict(zip(self.id_parts, resource_id.split(":", len(self.id_parts) - 1), strict=False))
        return {name: value for name, value in parts.items() if name in names}

    def twins(self, api: Api, inputs: Values) -> dict[str, Values]:
        """Objects that a create with these inputs would look like, by id (to look before a repeat)."""
        raise NotImplementedError

    def adopt(self, api: Api, resource_id: str, twin: Values) -> Values:
        """Take over an object of ours, found after a lost answer; returns what create would have answered."""
        del api, resource_id
        return twin

    def gone(self, answer: Values) -> bool:
        """Whether an answer describes an object that only waits for its removal."""
        return bool(answer.get("marked_for_deletion_at") or answer.get("marked_for_deletion_on"))

    def create(self, api: Api, inputs: Values) -> Values:
        """Post a new object."""
        return api.post(self.create_path(inputs), self.body(inputs))

    def read(self, api: Api, resource_id: str) -> Values:
        """Fetch the object."""
        return api.get(self.item_path(resource_id))

    def update(self, api: Api, resource_id: str, inputs: Values, changed: set[str]) -> None:
        """Send the changed properties."""
        body = self.body(inputs, changed)
        if body:
            api.put(self.item_path(resource_id), body)

    def delete(self, api: Api, resource_id: str, state: Values) -> None:
        """Remove the object."""
        del state
        api.delete(self.item_path(resource_id))
