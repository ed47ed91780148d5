"""The environment that makes `pulumi` the engine's own, as lines for a shell to evaluate."""

import shlex
from pathlib import Path

from engine.parts import SOURCES
from engine.store import Layout


def variables(layout: Layout) -> dict[str, str]:
    """Return the variables besides PATH."""
    python = SOURCES.parent / ".venv" / "bin" / "python"
    return {
        "PULUMI_HOME": str(layout.pulumi_home),
        # The versions are pinned: neither look for newer ones nor fetch plugins behind the user's back.
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "SHADOW_ENGINE_PYTHON": str(python),
    }


def exports(layout: Layout, bin_folder: Path | None = None) -> str:
    """Return `export` lines; PATH comes first and keeps what it held."""
    path = shlex.quote(str(bin_folder or layout.bin))
    lines = [f"export PATH={path}:$PATH"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables(layout).items()]
    return "\n".join(lines)
