"""Results of other tools as sessions: each file is one run, equal workloads of several files are joined.

A tool's own definition of a metric stays its own: numbers of two tools are never compared (`definition`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from shadow_perfgate import codec
from shadow_perfgate.errors import InputError
from shadow_perfgate.imports import aiperf, guidellm, llama_bench, optimum, pytest_benchmark, vllm
from shadow_perfgate.imports.node import Node
from shadow_perfgate.model import Session

Reader = Callable[[Node], list[Session]]
FORMATS: Final[Mapping[str, tuple[Callable[[Node], bool], Reader]]] = {
    "vllm": (vllm.fits, vllm.read),
    "aiperf": (aiperf.fits, aiperf.read),
    "llama-bench": (llama_bench.fits, llama_bench.read),
    "guidellm": (guidellm.fits, guidellm.read),
    "pytest-benchmark": (pytest_benchmark.fits, pytest_benchmark.read),
    "optimum-benchmark": (optimum.fits, optimum.read),
}
"""Name to (does a document look like it, its reader)."""


def read(path: Path, name: str | None = None) -> tuple[Session, ...]:
    """Return the sessions in the file at `path`, whose format is told by `name` or found by its content."""
    found: list[Session] = []
    for document in _documents(path):
        _, reader = FORMATS[_format(name, document)]
        found += reader(document)
    if not found:
        raise InputError(f"{path}: holds no result, expected at least one; run the benchmark again")
    return joined(found)


def read_all(paths: Sequence[Path], name: str | None = None) -> tuple[Session, ...]:
    """Return the sessions of several files; every broken file is named."""
    found: list[Session] = []
    faults: list[str] = []
    for path in paths:
        try:
            found += read(path, name)
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(*faults)
    return joined(found)


def joined(sessions: Sequence[Session]) -> tuple[Session, ...]:
    """Return one session per workload, with the runs of all in their order."""
    found: dict[str, Session] = {}
    for session in sessions:
        key = session.workload.digest
        known = found.get(key)
        found[key] = session if known is None else replace(known, runs=(*known.runs, *session.runs))
    return tuple(found.values())


def _documents(path: Path) -> list[Node]:
    """Return the JSON documents of a file: one, or one after another as appended results are."""
    try:
        text = codec.bounded(path).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: unreadable ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; is it a JSON file?") from None
    if not text.strip():
        raise InputError(f"{path}: empty, expected JSON; did the benchmark end before it wrote its results?")
    decoder, place, found = json.JSONDecoder(), 0, list[Node]()
    while place < len(text):
        try:
            document, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: {error}; the file is cut off or no JSON: write it again") from None
        found.append(Node(document, str(path)))
        place = end + len(text[end:]) - len(text[end:].lstrip())
    return found


def _format(name: str | None, document: Node) -> str:
    if name is not None and name not in FORMATS:
        raise InputError(f"--format: got {name!r}, expected one of {', '.join(FORMATS)}")
    fitting = [known for known, (fits, _) in FORMATS.items() if fits(document)]
    if name is not None and name not in fitting:
        hint = f"it looks like {fitting[0]}" if fitting else "it looks like none that is known"
        raise InputError(f"{document.source}: not a result of {name}; {hint}")
    if not fitting:
        raise InputError(f"{document.source}: no known result; expected one of {', '.join(FORMATS)}")
    return name or fitting[0]
