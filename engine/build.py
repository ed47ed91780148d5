"""Makes the engine ready: what is on the machine, else the official downloads, else a build from Go modules.

Exit codes: 0 ready, 1 a part could not be had (the message says what to do), 2 wrong usage.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from engine import download, installed, standin
from engine.cache import cache_home, exclusive, remove_partials
from engine.env import exports
from engine.errors import EngineError
from engine.gobuild import GoBuilder
from engine.gotoolchain import find_go
from engine.parts import BASE, OPTIONAL, Part
from engine.progress import Progress
from engine.store import Layout, missing, origin, part_folder, ready, record

SOURCES_OF_PARTS = ("auto", "official", "build")
_PARALLEL_MODULES = 2


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    parts: tuple[Part, ...]
    output: str
    source: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see the module's text for exit codes."""
    request = _parse(arguments)
    try:
        layout = make_ready(request)
    except EngineError as error:
        sys.stderr.write(f"engine: error: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"engine: error: {_unusable(error)}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("engine: interrupted; run it again to go on\n")
        return 1
    sys.stdout.write(_answer(request, layout) + "\n")
    return 0


def _unusable(error: OSError) -> EngineError:
    place = f"{error.filename}: " if error.filename else ""
    return EngineError(
        f"{place}{error.strerror or error}",
        "set SHADOW_CACHE_HOME (and GOCACHE, GOMODCACHE) to folders that you may write, on a disk with space",
    )


def _parse(arguments: Sequence[str] | None) -> Request:
    parser = argparse.ArgumentParser(
        prog="scripts/engine", description="Make the Pulumi engine ready and say where it is."
    )
    names = ", ".join(part.name for part in OPTIONAL)
    parser.add_argument(
        "--with", dest="extra", default="", metavar="PARTS", help=f"more parts, comma-separated: {names}"
    )
    parser.add_argument(
        "--env", dest="output", action="store_const", const="env", help="print exports to evaluate"
    )
    parser.add_argument(
        "--bin", dest="output", action="store_const", const="bin", help="print the bin folder (default)"
    )
    parser.add_argument(
        "--list", dest="output", action="store_const", const="list", help="print parts, versions, origins"
    )
    given = parser.parse_args(arguments)
    known = {part.name: part for part in (*BASE, *OPTIONAL)}
    wanted = [name.strip() for name in given.extra.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"--with: unknown part {', '.join(unknown)}; there are {names}")
    source = os.environ.get("SHADOW_ENGINE_SOURCE", "auto")
    if source not in SOURCES_OF_PARTS:
        parser.error(f"SHADOW_ENGINE_SOURCE is {source!r}; expected one of {', '.join(SOURCES_OF_PARTS)}")
    extra = [known[name] for name in dict.fromkeys(wanted) if known[name] not in BASE]
    return Request((*BASE, *extra), given.output or "bin", source)


def make_ready(request: Request) -> Layout:
    """Provide the requested parts and put them in their places."""
    layout = Layout.current()
    if not missing(request.parts, layout):
        return layout
    with exclusive(cache_home()):
        remove_partials(cache_home() / "engine-parts")
        absent = [part for part in request.parts if not ready(part)]
        if absent:
            with Progress(len(absent)) as progress:
                _provide(absent, request.source, progress)
        for part in missing(request.parts, layout):
            layout.add(part)
    return layout


def _provide(parts: Sequence[Part], source: str, progress: Progress) -> None:
    rest = list(parts)
    if source == "auto":
        rest = [part for part in rest if not _adopted(part, progress)]
    if rest and source != "build":
        rest = _downloaded(rest, progress, required=source == "official")
    if buildable := [part for part in rest if part.go]:
        _built(buildable, progress)
    for part in rest:
        if part.go is None:
            standin.install(part, part_folder(part))
            record(part, "stand-in")
            progress.finished(
                part.name, f"{part.title} {part.version}: no official one to be had; a stand-in is used"
            )


def _adopted(part: Part, progress: Progress) -> bool:
    home = installed.adopt(part, part_folder(part))
    if home is None:
        return False
    record(part, f"found in {home}")
    progress.finished(part.name, f"{part.title}: found in {home}")
    return True


def _downloaded(parts: Sequence[Part], progress: Progress, *, required: bool) -> list[Part]:
    """Download what can be; return the rest."""
    official = [part for part in parts if part.archive]
    if official and not download.reachable():
        if required:
            raise EngineError(
                f"{download.site()} cannot be reached", "unset SHADOW_ENGINE_SOURCE to build from Go modules"
            )
        progress.say(
            f"{download.site()} cannot be reached: parts that are not on the machine are built from source"
        )
        return list(parts)
    done = []
    for part in official:
        progress.started(part.name, f"{part.title} {part.version}: downloading")
        if download.download(part, part_folder(part), progress.say):
            record(part, f"downloaded from {download.site()}")
            progress.finished(part.name, f"{part.title} {part.version}: downloaded")
            done.append(part)
    return [part for part in parts if part not in done]


def _built(parts: Sequence[Part], progress: Progress) -> None:
    """Compile the rest, one Go command per module, two modules at a time."""
    go = find_go(progress.say)
    modules: dict[str, list[Part]] = {}
    for part in parts:
        if part.go:
            modules.setdefault(part.go.module, []).append(part)
    with ThreadPoolExecutor(_PARALLEL_MODULES) as pool:
        jobs = [pool.submit(_build_module, go, name, group, progress) for name, group in modules.items()]
        faults = [fault for job in jobs if (fault := job.exception())]
    for fault in faults:
        raise fault


def _build_module(go: Path, name: str, parts: Sequence[Part], progress: Progress) -> None:
    title = " + ".join(f"{part.title} {part.version}" for part in parts)
    progress.started(name, f"{title}: building from Go modules")
    builder = GoBuilder(
        go, cache_home() / "engine-logs" / f"{name}.log", lambda text: progress.note(name, f"{name}: {text}")
    )
    builder.build({part_folder(part): part for part in parts})
    for part in parts:
        record(part, "built from Go modules")
    progress.finished(name, f"{title}: built", count=len(parts))


def _answer(request: Request, layout: Layout) -> str:
    if request.output == "env":
        return exports(layout)
    if request.output == "list":
        return "\n".join(f"{part.name:<12} {part.version:<12} {origin(part)}" for part in request.parts)
    return str(layout.bin)


if __name__ == "__main__":
    sys.exit(main())
