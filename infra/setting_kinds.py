"""What the sections of the stack's configuration are made of: model configuration, and kinds of values."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

NAMESPACE = "shadow-gpu-runners"
"""Of all keys in the stack's configuration."""
REMEDY = "set it with `pulumi config set --path` or in Pulumi.<stack>.yaml (docs/reference/configuration.md)"
"""How a key is set."""


def _no_truth(value: object) -> object:
    # Python takes true as 1.
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a whole number, not true or false")
    return value


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""A text that is not empty."""
Whole = Annotated[int, BeforeValidator(_no_truth)]
"""A whole number."""
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+(/\S*)?$")]
"""An http or https address."""
SECTION = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)
"""Configuration of a section's model: its keys are in camelCase, and no others are taken."""
