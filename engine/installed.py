"""Finds parts that are on the machine already: Pulumi's own installation and its plugin folder."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from engine.cache import appearing, cache_home
from engine.parts import Part


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", version.strip())
    return tuple(map(int, match.groups())) if match else ()


def new_enough(found: str, wanted: str) -> bool:
    """Tell whether a version is the wanted one or a later one of the same major version."""
    have, need = _numbers(found), _numbers(wanted)
    return bool(have) and have[0] == need[0] and have >= need


def adopt(part: Part, folder: Path) -> str | None:
    """Install a part from the machine into its folder; return where it was found, None when it was not."""
    home = _plugin_home(part) if part.plugin else _cli_home(part)
    if home is None or not all((home / name).is_file() for name in part.executables):
        return None
    with appearing(folder) as place:
        for name in part.executables:
            shutil.copy2(home / name, place / name)
    return str(home)


def _cli_home(part: Part) -> Path | None:
    """Return the folder of a Pulumi installation on PATH that carries the part."""
    if part.archive is None:
        return None
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        command = Path(entry, "pulumi").resolve()
        if not entry or not command.is_file() or command.is_relative_to(cache_home()):
            continue
        done = subprocess.run([command, "version"], capture_output=True, text=True, check=False)
        return command.parent if new_enough(done.stdout, part.version) else None
    return None


def _plugin_home(part: Part) -> Path | None:
    """Return the folder of the plugin at exactly the SDK's version, as `pulumi plugin install` leaves it."""
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    folder = home / "plugins" / f"resource-{part.plugin}-v{part.version}"
    inside = folder.resolve().is_relative_to(cache_home())
    return folder if folder.is_dir() and not inside else None
