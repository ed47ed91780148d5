"""Print the installed packages and what their pulumi-plugin.json says, as JSON for the language host."""

import importlib.metadata
import importlib.util
import json
import pathlib
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution
from typing import Any


def plugin_of(distribution: Distribution) -> Any:
    """Return the parsed pulumi-plugin.json of a distribution, or None."""
    module = distribution.metadata["Name"].replace("-", "_").replace(".", "_")
    folders = [pathlib.Path(str(distribution.locate_file(module)))]
    spec = importlib.util.find_spec(module) if not folders[0].is_dir() else None
    if spec is not None:  # editable installs keep the module elsewhere
        folders += map(pathlib.Path, spec.submodule_search_locations or [])
    files = (folder / "pulumi-plugin.json" for folder in folders)
    return next((json.loads(file.read_text()) for file in files if file.is_file()), None)


def entries() -> Iterator[dict[str, Any]]:
    """Yield name, version and plugin description per distribution, the first on sys.path winning."""
    seen: set[str] = set()
    for distribution in importlib.metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if not name or name in seen:
            continue
        seen.add(name)
        yield {"name": name, "version": distribution.version, "plugin": plugin_of(distribution)}


sys.stdout.write(json.dumps(list(entries())))
