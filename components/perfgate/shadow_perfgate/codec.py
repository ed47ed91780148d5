"""Sessions as JSON: strict reading that names every fault by its place, and writing that refuses NaN."""

import io
import json
import os
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shadow_perfgate.errors import InputError, NewerError
from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import SCHEMA_VERSION, MetricSpec, Session

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_SHOWN = 60
LARGEST = 256 << 20
"""Bytes; a session of 10,000 runs has some 2 MiB."""


def dumps(session: Session) -> str:
    """Return `session` as JSON text; empty values are left out, and NaN or infinity raises `ValueError`."""
    return json.dumps(_dense(asdict(session)), allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def loads(text: str | bytes, source: str, *, own: bool = False) -> Session:
    """Read a session; `source` names it in errors.

    `own` skips what takes long, for text that this program wrote and a store kept, unless it is broken.
    """
    if not own:
        _check_text(text, source)
    from pydantic import ValidationError  # noqa: PLC0415 - reading sessions is not part of starting up

    try:
        session = _adapter().validate_json(text, strict=True)
    except ValidationError as error:
        if own:
            _check_text(text, source)
        raise InputError(*_faults(error, source)) from None
    _check_version({"schema_version": session.schema_version}, source)
    return _with_specs(session, source)


def read(path: Path) -> Session:
    """Read the session in the file at `path`."""
    try:
        return loads(bounded(path), str(path))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); expected a session written by `shadow-perfgate run`"
        ) from None


def bounded(path: Path) -> bytes:
    """Return the content of a file, or raise `InputError` for one without end or too large to be a result."""
    with path.open("rb", buffering=0) as file:
        large = os.fstat(file.fileno()).st_size > LARGEST
        content = b"" if large else _up_to(file, LARGEST + 1)
    if large or len(content) > LARGEST:
        raise InputError(
            f"{path}: is larger than {LARGEST >> 20} MiB, expected a session or a result of a benchmark; "
            "is it the right file?"
        )
    return content


def _up_to(file: io.FileIO, most: int) -> bytes:
    """Return at most about `most` bytes; pipes and devices give theirs in pieces and may never end."""
    pieces: list[bytes] = []
    while most > 0 and (piece := file.read(1 << 20)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def read_all(path: Path) -> list[Session]:
    """Read the session in a file, or those in every `*.json` of a folder in the order of their names."""
    if not path.is_dir():
        return [read(path)]
    found = sorted(path.glob("*.json"))
    if not found:
        raise InputError(
            f"{path}: holds no *.json, expected at least one session; run `shadow-perfgate run` first"
        )
    return [read(file) for file in found]


@cache
def _adapter() -> "TypeAdapter[Session]":
    from pydantic import TypeAdapter  # noqa: PLC0415 - see loads

    return TypeAdapter(Session)


def _dense(value: object) -> object:
    if isinstance(value, dict):
        items = ((key, _dense(entry)) for key, entry in cast("dict[str, object]", value).items())
        return {key: entry for key, entry in items if entry not in (None, "", {}, (), [])}
    if isinstance(value, (tuple, list)):
        return [_dense(entry) for entry in cast("list[object]", value)]
    return value


def _check_text(text: str | bytes, source: str) -> None:
    raw = text.encode() if isinstance(text, str) else text
    if raw.startswith(b"\xef\xbb\xbf"):
        raise InputError(
            f"{source}: starts with a byte order mark, expected plain UTF-8; save it without one"
        )
    if not raw.strip():
        raise InputError(f"{source}: is empty, expected a session; did the measuring job write it?")
    try:
        document = json.loads(raw, object_pairs_hook=lambda pairs: _no_twins(pairs, source))
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: byte {error.start} is not UTF-8; expected a session as JSON") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source}: line {error.lineno} column {error.colno}: {error.msg}; "
            "expected a whole session as JSON, the file is cut short or not JSON"
        ) from None
    except ValueError:
        raise InputError(
            f"{source}: holds a number of thousands of digits, expected a measured one"
        ) from None
    except RecursionError:
        raise InputError(f"{source}: is nested too deeply to be a session") from None
    _check_version(document, source)


def _no_twins(pairs: list[tuple[str, object]], source: str) -> dict[str, object]:
    seen = dict(pairs)
    if len(seen) != len(pairs):
        names = [key for key, _ in pairs]
        twins = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"{source}: key given twice: {', '.join(twins)}; expected each once, remove one")
    return seen


def _check_version(document: object, source: str) -> None:
    if not isinstance(document, dict):
        raise InputError(
            f"{source}: holds a {type(document).__name__}, expected one session (a JSON object); "
            "results of other tools are read by `shadow-perfgate import`"
        )
    version = cast("dict[str, object]", document).get("schema_version", SCHEMA_VERSION)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerError(
            f"{source}: schema_version: got {version}, this program reads up to {SCHEMA_VERSION}; "
            "use the shadow-perfgate that wrote it, or a newer one"
        )


def _faults(error: "ValidationError", source: str) -> list[str]:
    found: list[str] = []
    for fault in error.errors(include_url=False):
        where = _place(fault["loc"])
        got = "" if fault["type"] == "missing" else f", got {_shorten(fault['input'])}"
        remedy = " (NaN, null and infinity are refused: drop the run and say why in `discarded`)"
        is_number = fault["type"] in {"finite_number", "float_type"}
        found.append(f"{source}: {where}: {fault['msg'].lower()}{got}{remedy if is_number else ''}")
    return found


def _place(location: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "session"


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _with_specs(session: Session, source: str) -> Session:
    """Add the canonical meaning of metrics that the session does not describe itself."""
    described: dict[str, MetricSpec] = {}
    for spec in session.metrics:
        if spec.name in described:
            raise InputError(
                f"{source}: metrics: {spec.name!r} is described twice; expected once, remove one"
            )
        described[spec.name] = spec
    used = dict.fromkeys(name for run in session.runs for name in run.metrics)
    unknown = [name for name in used if name not in described and name not in CANONICAL]
    if unknown:
        raise InputError(
            f"{source}: metrics: {', '.join(unknown)}: no unit and direction; "
            "describe them in the session's `metrics` or use a canonical name (`shadow-perfgate metrics`)"
        )
    extra = [CANONICAL[name] for name in used if name not in described]
    return replace(session, metrics=(*session.metrics, *extra))
