"""Runs in the measured code's own Python: which modules it would take from the other checkout.

Arguments are the own and the other tree. It is given as text to an interpreter that has none of this package.
"""

import importlib.util
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Iterator, Optional, Tuple  # noqa: UP035 - an older Python may run it
from urllib.parse import unquote, urlsplit

own, other = (Path(argument).resolve() for argument in sys.argv[1:3])


def of_other(place: Path) -> bool:
    """Tell whether `place` is the other tree's; one may lie within the other."""
    trees = [tree for tree in (own, other) if tree == place or tree in place.parents]
    return bool(trees) and max(trees, key=lambda tree: len(tree.parts)) == other


def on_path() -> Iterator[Tuple[str, Path]]:  # noqa: UP006 - see above
    """Yield each importable name of the other tree's folders on Python's path, with where it lies."""
    for entry in filter(None, sys.path):
        folder = Path(entry).resolve()
        if of_other(folder) and folder.is_dir() and not {"site-packages", "dist-packages"} & {*folder.parts}:
            yield from ((child.name.split(".")[0], child) for child in folder.iterdir())


def editable() -> Iterator[Tuple[str, Path]]:  # noqa: UP006 - see above
    """Yield what finders of editable installations lead to."""
    for name, module in list(sys.modules.items()):
        if name.startswith("__editable__"):
            yield from ((key, Path(place)) for key, place in getattr(module, "MAPPING", {}).items())


def installed() -> Iterator[Tuple[str, Path]]:  # noqa: UP006 - see above
    """Yield each name that a distribution brings, with the folder it was installed from."""
    for distribution in metadata.distributions():
        told = str(json.loads(distribution.read_text("direct_url.json") or "{}").get("url", ""))
        if told.startswith("file:"):
            source = Path(unquote(urlsplit(told).path))
            yield from ((file.parts[0].split(".")[0], source) for file in distribution.files or ())


def taken(name: str) -> Optional[Path]:  # noqa: UP045 - see above
    """Return the file or folder that `name` is imported from, if any."""
    try:
        spec = importlib.util.find_spec(name)
    except (AttributeError, ImportError, ValueError):
        # __main__ has none, and finders of others may fail.
        return None
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    return next((Path(place).resolve() for place in places if place and Path(place).exists()), None)


found = {}
for name, place in (*on_path(), *editable(), *installed()):
    there = place.resolve()
    if name.isidentifier() and of_other(there) and (own / there.relative_to(other)).exists():
        source = taken(name)
        if source is not None and (of_other(source) or own not in source.parents):
            found[name] = str(source.parent)
sys.stdout.write(json.dumps(found))
