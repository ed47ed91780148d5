"""Installs the stand-in for a plugin that can be neither downloaded nor built: Python with a launcher."""

import shutil
from pathlib import Path

from engine.cache import appearing
from engine.errors import EngineError
from engine.parts import SOURCES, Part

_LAUNCHER = """#!/bin/sh
# Starts the stand-in with a Python that has pulumi and the service's client library.
for python in "$SHADOW_ENGINE_PYTHON" "${{VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}}" {default} python3; do
    [ -n "$python" ] && command -v "$python" >/dev/null 2>&1 && exec "$python" "{program}" "$@"
done
echo "no Python found for the {name} plugin; run scripts/quickstart, or set SHADOW_ENGINE_PYTHON" >&2
exit 1
"""


def install(part: Part, folder: Path) -> None:
    """Copy the stand-in's sources beside a launcher that carries the plugin's executable name."""
    if part.standin is None:
        raise EngineError(
            f"{part.title} {part.version} cannot be had here", "use a machine that reaches get.pulumi.com"
        )
    source, (name,) = SOURCES / part.standin, part.executables
    if not (source / name).is_file():
        raise EngineError(f"{source / name} is missing", "check the checkout: `git status engine`")
    with appearing(folder) as place:
        shutil.copytree(source, place / part.standin, ignore=shutil.ignore_patterns("__pycache__"))
        launcher = place / name
        program = folder / part.standin / name
        default = SOURCES.parent / ".venv" / "bin" / "python"
        launcher.write_text(
            _LAUNCHER.format(default=f'"{default}"', program=program, name=part.plugin), encoding="utf-8"
        )
        launcher.chmod(0o755)
