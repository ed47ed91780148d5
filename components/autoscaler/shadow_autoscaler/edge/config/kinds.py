"""The kinds of values that the configuration is made of."""

import re
from dataclasses import dataclass
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

_DURATION = re.compile(r"^(\d+(?:\.\d+)?)\s*(s|m|h|d)$")
SECRET_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")
_SECRET_ITSELF = re.compile(r"^(gh[a-z]_|github_pat_|gl[a-z]+-|whsec_|-----BEGIN)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class Section(BaseModel):
    """A part of the file: immutable, and no key is ignored."""

    # Built when first used: a function on AWS builds the whole once and not each section besides.
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True)


def seconds(value: object) -> object:
    """Return the seconds of `15m`, `2h`, `1.5d` or of a plain number; anything else is left to pydantic."""
    match = _DURATION.match(value.strip()) if isinstance(value, str) else None
    return float(match[1]) * _UNITS[match[2]] if match else value


def _known_timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("a name of the IANA time zone database, such as Europe/Paris") from None
    return name


def _secret_name(name: str) -> str:
    if _SECRET_ITSELF.match(name):
        raise PydanticCustomError("secret_itself", "the name of a secret, not the secret itself")
    if not SECRET_NAME.match(name):
        raise PydanticCustomError("secret_name", "the name of a secret: letters, digits and _ . -")
    return name


Text = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]
"""A text that is neither empty nor padded."""
Address = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$")]
"""An http or https address."""
SecretName = Annotated[
    str, AfterValidator(_secret_name), WithJsonSchema({"type": "string", "pattern": SECRET_NAME.pattern})
]
"""Where a secret lies: the name of a file, variable or entry, never the secret itself."""
Duration = Annotated[
    float,
    BeforeValidator(seconds),
    Field(gt=0, allow_inf_nan=False),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^\d+(\.\d+)?\s*(s|m|h|d)$"},
            ]
        }
    ),
]
"""Seconds, or a number with a unit: `90s`, `15m`, `2h`, `1d`."""


@dataclass(frozen=True, slots=True)
class Within:
    """The range of a duration in seconds, in the words of the file."""

    least: float
    most: float = 31_536_000.0

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Refuse what is outside."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe numbers with their limits; a schema cannot compare texts."""
        del schema, handler
        number = {"type": "number", "minimum": self.least, "maximum": self.most}
        return {"anyOf": [number, {"type": "string", "pattern": _DURATION.pattern}]}

    def _check(self, value: float) -> float:
        if not self.least <= value <= self.most:
            text = f"{span(self.least)} to {span(self.most)}"
            raise PydanticCustomError("duration_range", "{text}", {"text": text})
        return value


def span(seconds: float) -> str:
    """Return seconds as the file may write them, in the largest unit that divides them."""
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _UNITS[unit] == 0 or unit == "s")
    return f"{seconds / _UNITS[unit]:g}{unit}"


Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$|^24:00$")]
"""A time of day, `00:00` to `24:00`."""
TimeZone = Annotated[str, AfterValidator(_known_timezone)]
"""A name of the IANA time zone database."""
