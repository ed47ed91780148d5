"""The cache's layout: one folder per built part, and the bin and plugin folders assembled from them."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.cache import cache_home, digest, mirror
from engine.parts import BASE, Part, platform_names

ORIGIN = "origin.txt"


def part_folder(part: Part) -> Path:
    """Return the folder of a part: named by everything that decides its content."""
    return (
        cache_home() / "engine-parts" / f"{part.name}-{digest([repr(part), *platform_names()], part.sources)}"
    )


def ready(part: Part) -> bool:
    """Tell whether a part is there, complete."""
    folder = part_folder(part)
    return all((folder / name).is_file() for name in part.executables)


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders that a user of the engine sees; their names change with the engine's content."""

    bin: Path
    pulumi_home: Path

    @classmethod
    def current(cls) -> "Layout":
        """Return the folders for the present sources and pins."""
        key = digest(part_folder(part).name for part in BASE)
        return cls(cache_home() / f"engine-{key}" / "bin", cache_home() / f"pulumi-home-{key}")

    def place(self, part: Part) -> Path:
        """Return where a part's files belong: the plugin folder for plugins, else the bin folder."""
        if part.plugin:
            return self.pulumi_home / "plugins" / f"resource-{part.plugin}-v{part.version}"
        return self.bin

    def holds(self, part: Part) -> bool:
        """Tell whether a part is in its place, in its present form."""
        source, place = part_folder(part), self.place(part)
        try:
            return all(_same(source / name, place / name) for name in part.executables)
        except OSError:
            return False

    def add(self, part: Part) -> None:
        """Put a built part in its place."""
        mirror(part_folder(part), self.place(part), without=ORIGIN)


def _same(left: Path, right: Path) -> bool:
    ours, theirs = left.stat(), right.stat()
    return os.path.samestat(ours, theirs) or (ours.st_size, int(ours.st_mtime)) == (
        theirs.st_size,
        int(theirs.st_mtime),
    )


def record(part: Part, origin: str) -> None:
    """Note where a part came from, for `scripts/engine --list`."""
    text = json.dumps({"part": part.name, "version": part.version, "origin": origin})
    (part_folder(part) / ORIGIN).write_text(text + "\n", encoding="utf-8")


def origin(part: Part) -> str:
    """Return where a part came from."""
    try:
        return str(json.loads((part_folder(part) / ORIGIN).read_text(encoding="utf-8"))["origin"])
    except (OSError, ValueError, KeyError):
        return "unknown"


def missing(parts: Sequence[Part], layout: Layout) -> list[Part]:
    """Return the parts that are not in their place yet."""
    return [part for part in parts if not ready(part) or not layout.holds(part)]
