"""Copies of the example programs in other languages, installed once and kept by the hash of what went in."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from localcloud.paths import cache_home, content_hash, repository
from stack.live import engine_environment

_IGNORED = shutil.ignore_patterns("__pycache__", "venv", "node_modules", "sdks", "*.egg-info", "build")
_KEPT = 3


def environment() -> dict[str, str]:
    """Return the engine's environment with the YAML and Node.js language hosts."""
    return engine_environment("yaml,nodejs")


def workspace(language: str, folder: Path) -> Path:
    """Make a project folder of the example below `folder`, with links to what was installed for it."""
    home = _installed(language)
    project = folder / "examples" / language
    shutil.copytree(repository() / "examples" / language, project, ignore=_IGNORED)
    for name in ("components", "examples/*/node_modules", "examples/*/sdks"):
        for place in home.glob(name):
            (folder / place.relative_to(home)).symlink_to(place)
    return project


def _installed(language: str) -> Path:
    files = [file for part in _parts(language) for file in _files(repository() / part)]
    home = cache_home() / f"example-{language}-{content_hash(environment()['PULUMI_HOME'], *files)}"
    home.mkdir(parents=True, exist_ok=True)
    (home / "lock").touch()
    _forget_old(language)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            _install(language, home)
            (home / "ready").touch()
    return home


def _forget_old(language: str) -> None:
    """Keep the latest few: each change of the components makes a new one of 130 (YAML) or 300 MB."""
    homes = cache_home().glob(f"example-{language}-*/lock")
    for lock in sorted(homes, key=lambda lock: lock.stat().st_mtime, reverse=True)[_KEPT:]:
        shutil.rmtree(lock.parent, ignore_errors=True)


def _parts(language: str) -> tuple[str, str]:
    return "components/gpu-runners", f"examples/{language}"


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        ignored = _IGNORED(parent, [*folders, *names])
        folders[:] = sorted(set(folders) - ignored)
        yield from (Path(parent) / name for name in sorted(set(names) - ignored))


def _install(language: str, home: Path) -> None:
    for part in _parts(language):
        shutil.rmtree(home / part, ignore_errors=True)
        shutil.copytree(repository() / part, home / part, ignore=_IGNORED)
    done = subprocess.run(
        ["pulumi", "install", "--non-interactive"],
        cwd=home / "examples" / language,
        env={**environment(), "PULUMI_BACKEND_URL": f"file://{home}", "PULUMI_CONFIG_PASSPHRASE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    # A busy engine may add "exited prematurely" about a plugin that ends after its work.
    # Whether the SDK is whole is seen when the program uses it.
    assert done.returncode == 0, done.stdout + done.stderr
