"""Prompt sets: two that ship with the tool, pinned by their hash, or the user's own JSON lines."""

import json
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final, cast

from shadow_perfgate.errors import Faults

STANDARD: Final = {
    "decode-heavy": "d1fa0370ff4d92c6fe941e54f17837753f9b26ad2687724f6b4bdef5d32c14b4",
    "prefill-heavy": "b1ece7858bb8b4d87950b29c1dd3d72700faafb8887fb1da76f2a0c892aebca1",
}
"""Name to SHA-256 of the file; another text would be another workload."""


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts in their order, with the hash of the file they came from."""

    source: str
    sha256: str
    prompts: tuple[tuple[str, str], ...]
    """(id, text) of each prompt."""


def load(name: str, folder: Path, faults: Faults, where: str) -> PromptSet | None:
    """Return the standard set `name`, or the JSON lines file of that name; note what is wrong."""
    data = _standard(name) if name in STANDARD else _own(folder / name, faults, where)
    if data is None:
        return None
    digest = sha256(data).hexdigest()
    if name in STANDARD and digest != STANDARD[name]:
        faults.add(
            where, digest, f"SHA-256 {STANDARD[name]}", "the installed prompt file was changed: reinstall"
        )
        return None
    prompts = parse(data, faults, f"{where} ({name})")
    return PromptSet(name, digest, prompts) if prompts else None


def _standard(name: str) -> bytes:
    return files("shadow_perfgate").joinpath("prompts", f"{name}.jsonl").read_bytes()


def _own(path: Path, faults: Faults, where: str) -> bytes | None:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        known, why = ", ".join(STANDARD), error.strerror if isinstance(error, OSError) else error
        faults.add(where, str(path), f"{known} or a JSON lines file ({why})", "correct the path")
        return None


def parse(data: bytes, faults: Faults, where: str) -> tuple[tuple[str, str], ...]:
    """Return (id, text) of each line `{"prompt": "...", "id": "..."}`; ids default to the line number."""
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        faults.add(where, f"byte {error.start}", "UTF-8 text", "save the file as UTF-8")
        return ()
    found = [_line(line, number, faults, where) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        faults.add(where, "no prompts", "at least one line", 'add lines such as {"prompt": "Tell a story."}')
    twice = {key for key, _ in found if key and [other for other, _ in found].count(key) > 1}
    for key in sorted(twice):
        faults.add(where, key, "ids that occur once", "give each prompt an id of its own")
    return tuple(found)


def _line(line: str, number: int, faults: Faults, where: str) -> tuple[str, str]:
    try:
        item: object = json.loads(line)
    except ValueError as error:
        faults.add(f"{where} line {number}", line[:60], "a JSON object", f"{error}")
        return "", ""
    table = cast("dict[str, object]", item) if isinstance(item, dict) else {}
    text = table.get("prompt")
    if not isinstance(text, str) or not text.strip():
        faults.add(
            f"{where} line {number}", line[:60], 'an object with a text "prompt"', "give the prompt as text"
        )
        return "", ""
    return str(table.get("id", number)), text
