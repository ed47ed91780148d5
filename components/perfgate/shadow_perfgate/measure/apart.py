"""Tells when both arms would run the same code, as one environment for both checkouts makes them do."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final, cast

from shadow_perfgate.baseline.git import line
from shadow_perfgate.errors import MeasureError
from shadow_perfgate.measure import process
from shadow_perfgate.measure.order import Arm
from shadow_perfgate.measure.plan import Plan

LONGEST_S: Final = 60.0
"""Most time that an interpreter has to say what it would import."""
_PYTHON = re.compile(r"python[\d.]*")
_OWNERS: Final = {"base": "candidate", "candidate": "base"}


def tree_of(folder: Path) -> Path:
    """Return the top of the checkout that `folder` lies in."""
    return Path(line(folder, "rev-parse", "--show-toplevel") or folder).resolve()


def ensure_apart(plan: Plan, base: Path, head: Path) -> None:
    """Raise when the Python of one arm would import modules of the other's checkout."""
    arms: tuple[tuple[Arm, Path, Path], ...] = (("base", base, head), ("candidate", head, base))
    for arm, own, other in arms:
        python = python_of(plan, own)
        found = _asked(python, own, tree_of(other)) if python else {}
        refuse(arm, list(found.values()))


def ensure_sources(arm: Arm, sources: Sequence[str], own: Path, other: Path) -> None:
    """Raise when `arm` had loaded modules from folders of the other's checkout."""
    mine, others = tree_of(own), tree_of(other)
    # One may lie within the other: a path belongs to the innermost.
    inner = len(others.parts) > len(mine.parts)
    strange = [s for s in sources if _in(s, others) and (inner or not _in(s, mine))]
    refuse(arm, strange if mine != others else [])


def refuse(arm: Arm, places: Sequence[str]) -> None:
    """Raise when there are `places` of the other checkout."""
    if places:
        raise MeasureError(
            f"{arm} imported {places[0]} of the {_OWNERS[arm]}'s checkout: both would be the same code; "
            'give each checkout its own environment: prepare = [["python3", "-m", "venv", ".venv"], '
            '[".venv/bin/pip", "install", "-e", "."]] and python = ".venv/bin/python", or that path in argv'
        )


def python_of(plan: Plan, checkout: Path) -> str:
    """Return the Python that runs the measured code, or an empty text when a command hides it."""
    words = plan.options.get("argv") or plan.options.get("server")
    if not isinstance(words, list | tuple):
        return process.interpreter(plan.python, checkout)
    return next(_pythons(cast("Sequence[str]", words), checkout), "")


def _pythons(words: Sequence[str], checkout: Path) -> Iterator[str]:
    """Yield what of a command is a Python, or a script that says which one it runs in."""
    for word in words:
        place = str(checkout / word) if "/" in word else shutil.which(word)
        if place and _PYTHON.fullmatch(Path(place).name):
            yield place
        elif place and Path(place).is_file():
            yield from filter(None, [_shebang(Path(place))])


def _shebang(script: Path) -> str:
    with script.open("rb") as file:
        first = file.read(512).decode(errors="replace").splitlines()[:1]
    words = first[0][2:].split() if first and first[0].startswith("#!") else []
    named = next((word for word in words if _PYTHON.fullmatch(Path(word).name)), "")
    return shutil.which(named) or "" if named else ""


def _asked(python: str, own: Path, other: Path) -> dict[str, str]:
    """Return the names that `python` would take from elsewhere than `own`; none when it cannot say."""
    probe = files("shadow_perfgate.measure").joinpath("apart_probe.py").read_text(encoding="utf-8")
    try:
        ended = subprocess.run(
            [python, "-c", probe, str(tree_of(own)), str(other)],
            cwd=own,
            env=process.environment("", [str(own)], {}),
            capture_output=True,
            check=True,
            timeout=LONGEST_S,
        )
        return cast("dict[str, str]", json.loads(ended.stdout.splitlines()[-1]))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return {}


def _in(place: str, tree: Path) -> bool:
    return Path(place).resolve().is_relative_to(tree)
