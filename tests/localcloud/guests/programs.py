"""The stand-ins as guests see them: one compiled copy per content, so that no call compiles them again."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from localcloud.guests.cloud_init import SYSTEM_PYTHON, publish
from localcloud.paths import cache_home, content_hash
from localcloud.standins import rootfs

SOURCE = Path(rootfs.__file__).parent


def compiled() -> Path:
    """Folder with the stand-ins as they are now, and their byte code."""
    files = sorted(path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    names = [str(path.relative_to(SOURCE)) for path in files]
    target = cache_home() / f"standins-{content_hash(*names, *files)}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            copy = Path(scratch) / "standins"
            shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            command = [SYSTEM_PYTHON, "-m", "compileall", "-q", str(copy)]
            subprocess.run(command, check=True, capture_output=True)
            publish(copy, target)
    return target
