"""A decision as JSON, so that another job (which may comment, or has no GPU) can report it."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from shadow_perfgate.codec import bounded
from shadow_perfgate.decide.verdict import Decision
from shadow_perfgate.errors import InputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@cache
def _adapter() -> "TypeAdapter[Decision]":
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to import

    return TypeAdapter(Decision)


def dumps(decision: Decision) -> str:
    """Return a decision as JSON."""
    return _adapter().dump_json(decision, indent=1).decode()


def read(path: Path) -> Decision:
    """Read the decision that a gate wrote."""
    try:
        return _adapter().validate_json(bounded(path))
    except OSError as error:
        raise InputError(f"{path}: unreadable ({error.strerror}); expected decision.json of a gate") from None
    except ValueError as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path}: is no decision ({first}); expected decision.json of a gate") from None
