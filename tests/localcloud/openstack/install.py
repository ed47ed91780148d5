"""Debian packages and the virtual environment that the control plane runs from."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from localcloud.paths import cache_home, content_hash, log_dir, repository
from localcloud.processes import ServiceError
from localcloud.progress import Progress

RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"
_PROGRAMS = {
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
    RABBITMQ: "rabbitmq-server",
    "epmd": "rabbitmq-server",
    "bwrap": "bubblewrap",
    "git": "git",
}
_SYSTEM_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
_POLICY = Path("/usr/sbin/policy-rc.d")


def program(name: str) -> str:
    """Path of a program, also of one that only root has on PATH; the name itself where there is none."""
    return shutil.which(name, path=_SYSTEM_PATH) or name


def missing_packages() -> list[str]:
    """Debian packages whose programs are not on this machine."""
    absent = {package for name, package in _PROGRAMS.items() if not shutil.which(name, path=_SYSTEM_PATH)}
    return sorted(absent)


def ensure_packages(progress: Progress) -> None:
    """Install the missing Debian packages without starting their system services.

    Raises:
        ServiceError: no apt here, no right to use it, or it failed.
    """
    packages = missing_packages()
    if not packages:
        return
    remedy = f"install them: apt-get install {' '.join(packages)} (and stop the system services they start)"
    if not shutil.which("apt-get"):
        raise ServiceError(
            f"programs of {', '.join(packages)} are missing and there is no apt-get; {remedy}."
        )
    if os.geteuid() != 0 and not shutil.which("sudo"):
        raise ServiceError(f"{', '.join(packages)} are missing; run as root, or {remedy}.")
    progress.say(f"installing Debian packages: {', '.join(packages)}")
    with _services_kept_down():
        _logged([*_root(), "apt-get", "update", "-q"], "apt")
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
        _logged([*_root("DEBIAN_FRONTEND=noninteractive"), *install], "apt")


def venv() -> Path:
    """Folder of the virtual environment for the pinned release and this Python."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return cache_home() / f"openstack-{content_hash(_requirements(), version)}"


def ensure_venv(progress: Progress) -> Path:
    """Make the virtual environment unless it is complete.

    Raises:
        ServiceError: the packages could not be installed.
    """
    folder = venv()
    complete = folder / ".complete"
    if complete.exists():
        return folder
    progress.say(f"installing OpenStack from hashed requirements into {folder} (about a minute)")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    for command in _venv_commands(folder):
        _logged(command, "venv")
    complete.touch()
    return folder


def _venv_commands(folder: Path) -> Iterator[list[str]]:
    """Uv where there is one (a fourth of the time), else the standard library's venv and its pip."""
    python = str(folder / "bin" / "python")
    hashed = ["--require-hashes", "-r", str(_requirements())]
    if uv := _uv():
        yield [uv, "venv", "-q", "--python", sys.executable, str(folder)]
        yield [uv, "pip", "install", "-q", "--compile-bytecode", "--python", python, *hashed]
    else:
        yield [sys.executable, "-m", "venv", str(folder)]
        yield [python, "-m", "pip", "install", "-q", *hashed]


def _uv() -> str | None:
    found = shutil.which("uv")
    return found or next((str(path) for path in cache_home().glob("uv-*/bin/uv")), None)


def _requirements() -> Path:
    return repository() / "requirements" / "openstack.txt"


def _root(*assignments: str) -> list[str]:
    return ["env", *assignments] if os.geteuid() == 0 else ["sudo", "env", *assignments]


@contextmanager
def _services_kept_down() -> Generator[None]:
    """Debian starts a package's service at install unless policy-rc.d forbids it."""
    if _POLICY.exists():
        yield
        return
    denial = "printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d"
    _logged([*_root(), "sh", "-c", denial], "apt")
    try:
        yield
    finally:
        _logged([*_root(), "rm", "-f", str(_POLICY)], "apt")


def _logged(command: list[str], log: str) -> None:
    log_dir().mkdir(parents=True, exist_ok=True)
    path = log_dir() / f"install-{log}.log"
    with path.open("a") as out:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
    if result.returncode:
        tail = "\n".join(path.read_text(errors="replace").splitlines()[-10:])
        raise ServiceError(f"`{' '.join(command)}` failed with exit code {result.returncode}:\n{tail}")
