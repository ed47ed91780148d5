"""Finds a Go toolchain that is new enough, or fetches the pinned one from the Go module proxy."""

import os
import re
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from engine.cache import appearing, cache_home
from engine.download import Unreachable, fetch, sha256_of
from engine.errors import EngineError
from engine.parts import platform_names

MINIMUM = (1, 26, 6)
"""The `go` directive of the modules (cli/go.mod asks for the newest)."""
PINNED = "1.26.8"
TOOLCHAIN_SHA256: Mapping[tuple[str, str], str] = {
    ("linux", "amd64"): "30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7",
    ("linux", "arm64"): "02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99",
    ("darwin", "amd64"): "fe99a2009e5bb51e06d7784f1a486478673512041c2671157bd382806e2aedcf",
    ("darwin", "arm64"): "0aad5fb52b88498885290178adc0bcfe429bc63012621af9f83282eb640bd9c7",
}
"""SHA-256 of the toolchain archives `golang.org/toolchain@v0.0.1-go<version>.<os>-<arch>.zip`."""
DEFAULT_PROXY = ""

_REMEDY = (
    f"install Go {PINNED} or newer from https://go.dev/dl/ and put it on PATH, or set GOPROXY to a reachable "
    "module proxy (the toolchain comes from there too)"
)


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
    """Return a Go command that is new enough: the one on PATH, else the pinned one from the module proxy."""
    found = shutil.which("go")
    version = version_of(Path(found)) if found else None
    if found and version and version >= MINIMUM:
        return Path(found)
    reason = (
        "Go is not on PATH" if not found else f"{found} is {_dotted(version)}, older than {_dotted(MINIMUM)}"
    )
    kept = cache_home() / f"go-{PINNED}" / "bin" / "go"
    if not kept.exists():
        say(f"{reason}; fetching Go {PINNED} from the module proxy (70 MB, once)")
        _fetch_toolchain(reason)
    return kept


def _fetch_toolchain(reason: str) -> None:
    system = platform_names()
    checksum = TOOLCHAIN_SHA256.get(system)
    if checksum is None:
        raise EngineError(f"{reason}, and no Go toolchain is pinned for {'/'.join(system)}", _REMEDY)
    name = f"v0.0.1-go{PINNED}.{system[0]}-{system[1]}"
    try:
        archive = fetch(f"{_proxy(reason)}/golang.org/toolchain/@v/{name}.zip", timeout_s=60)
    except Unreachable as error:
        raise EngineError(
            f"{reason}, and the pinned toolchain could not be fetched: {error}", _REMEDY
        ) from error
    with archive:
        if (actual := sha256_of(archive)) != checksum:
            raise EngineError(f"the Go toolchain {name} has SHA-256 {actual}; expected {checksum}", _REMEDY)
        with appearing(cache_home() / f"go-{PINNED}") as folder, zipfile.ZipFile(archive) as content:
            _unpack(content, f"golang.org/toolchain@{name}/", folder)


def _proxy(reason: str) -> str:
    choices = re.split(r"[,|]", os.environ.get("GOPROXY") or DEFAULT_PROXY)
    usable = [choice.rstrip("/") for choice in choices if choice.startswith(("http://", "https://"))]
    if not usable:
        raise EngineError(
            f"{reason}, and GOPROXY={os.environ.get('GOPROXY')} names no proxy to fetch it from", _REMEDY
        )
    return usable[0]


def _unpack(content: zipfile.ZipFile, prefix: str, folder: Path) -> None:
    for entry in content.infolist():
        place = folder / entry.filename.removeprefix(prefix)
        if entry.is_dir() or not place.resolve().is_relative_to(folder.resolve()):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with content.open(entry) as source, place.open("wb") as target:
            shutil.copyfileobj(source, target)
        if _is_program(place.relative_to(folder)):
            place.chmod(place.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _is_program(path: Path) -> bool:
    """Tell programs by their place: a module archive keeps no file modes."""
    return path.parts[0] == "bin" or path.parts[:2] == ("pkg", "tool")


def _dotted(version: tuple[int, ...] | None) -> str:
    return ".".join(map(str, version)) if version else "not a Go toolchain"
