"""What is wrong with a webhook's body or a forge's answer, field by field."""

from typing import Any, Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

_QUOTED: Final = 60
_LIST: Final = TypeAdapter(list[Any])
_M = TypeVar("_M", bound=BaseModel)


class MalformedEventError(ValueError):
    """A body that cannot be understood; the text names every field that is missing or wrong."""


def parse(model: type[_M], body: bytes) -> _M:
    """Read a JSON body as a model.

    Raises:
        MalformedEventError: Not JSON, not an object, or fields that are missing or wrong.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise MalformedEventError(sentence(error)) from None


def items(value: object) -> list[Any]:
    """Return a list as one; raises `ValidationError` for what else might pass for an empty one."""
    return _LIST.validate_python(value)


def sentence(error: ValidationError) -> str:
    """All faults of a body in one line."""
    return "; ".join(
        f"{_place(item['loc'])}: {item['msg']}{_quoted(item['type'], item['input'])}"
        for item in error.errors(include_url=False, include_context=False)
    )


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "body"


def _quoted(kind: str, value: object) -> str:
    # Of a missing field pydantic gives the whole object around it, and of broken JSON the whole body.
    return "" if kind in {"missing", "json_invalid"} else f", got {repr(value)[:_QUOTED]}"
