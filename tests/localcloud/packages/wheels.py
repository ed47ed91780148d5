"""Builds the autoscaler's wheel and downloads what it needs; both are kept by content."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localcloud.paths import cache_home, content_hash, port, repository, state_home
from localcloud.processes import ServiceError

ADDRESS = f"http://127.0.0.1:{port(8941)}"
"""Where the index answers: `/simple/` for pip, `/packages/<file>` for one file."""
_SYSTEM_PYTHON = "/usr/bin/python3"
_VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Wheel:
    """One built wheel."""

    name: str
    sha256: str

    @property
    def url(self) -> str:
        """Address with checksum, as the `Autoscaler` component takes it."""
        return f"{ADDRESS}/packages/{self.name}#sha256={self.sha256}"


def folder() -> Path:
    """Folder that the index serves."""
    return state_home() / "packages"


def prepare() -> Wheel:
    """Make everything ready to be served; return the wheel of this checkout.

    Raises:
        ServiceError: a build or a download failed.
    """
    return built()


def built(marker: str = "") -> Wheel:
    """Build this checkout's wheel and offer it, with what it needs; another `marker` makes another release.

    Raises:
        ServiceError: a build or a download failed.
    """
    for file in _needed().iterdir():
        _offer(file)
    source = repository() / "components" / "autoscaler"
    files = sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    digest = content_hash(*map(str, files), *files, marker)
    target = cache_home() / f"autoscaler-wheel-{digest}"
    if not target.is_dir():
        with tempfile.TemporaryDirectory(prefix="wheel-") as scratch:
            _build(source, Path(scratch), int(digest[:8], 16))
            _publish(Path(scratch) / "dist", target)
    wheel = next(target.glob("*.whl"))
    _offer(wheel)
    return Wheel(wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest())


def _build(source: Path, scratch: Path, number: int) -> None:
    copy = scratch / "source"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "dist"))
    project = copy / "pyproject.toml"
    project.write_text(_VERSION.sub(rf'version = "\1.dev{number}"', project.read_text(), count=1))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(scratch / "dist")]
    _run([*command, str(copy)], "build of shadow-autoscaler")


def _needed() -> Path:
    """Folder with the wheels of requirements/autoscaler.txt for the guests' Python."""
    requirements = repository() / "requirements" / "autoscaler.txt"
    version = subprocess.run([_SYSTEM_PYTHON, "-V"], capture_output=True, text=True, check=True).stdout
    target = cache_home() / f"autoscaler-needs-{content_hash(requirements, version)}"
    if not target.is_dir():
        with tempfile.TemporaryDirectory(prefix="needs-") as scratch:
            _run([_SYSTEM_PYTHON, "-m", "venv", f"{scratch}/pip"], "venv (apt-get install python3-venv)")
            pip = [f"{scratch}/pip/bin/pip", "download", "--quiet", "--disable-pip-version-check"]
            options = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(requirements)]
            _run([*pip, *options, "-d", f"{scratch}/wheels"], "download of requirements/autoscaler.txt")
            _publish(Path(scratch) / "wheels", target)
    return target


def _publish(made: Path, target: Path) -> None:
    """Move a complete folder into place; another process may have been faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.copytree(made, draft)
    try:
        draft.rename(target)
    except OSError:
        shutil.rmtree(draft)


def _offer(file: Path) -> None:
    place = folder() / file.name
    if place.exists():
        return
    folder().mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{file.name}.{os.getpid()}")
    shutil.copyfile(file, draft)
    draft.replace(place)


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-600:]
        raise ServiceError(f"{what} failed with status {done.returncode}: {said}")
