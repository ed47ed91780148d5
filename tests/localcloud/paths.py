"""Where the local cloud keeps what it builds and what a reset throws away."""

import hashlib
import os
from pathlib import Path

_PRODUCT = "shadow-gpu-runners"


def repository() -> Path:
    """Root of the checkout that this package belongs to."""
    return Path(__file__).resolve().parents[2]


def cache_home() -> Path:
    """Folder of builds and virtual environments, named by the hash of what went in; survives a reset."""
    if chosen := os.environ.get("SHADOW_CACHE_HOME"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / _PRODUCT


def state_home() -> Path:
    """Folder of everything that `reset` throws away: databases, logs, pids, forge data, guests."""
    if chosen := os.environ.get("SHADOW_LOCALCLOUD_HOME"):
        return Path(chosen)
    return (
        Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / _PRODUCT / "localcloud"
    )


def port(usual: int) -> int:
    """A port of the local cloud, moved by $SHADOW_LOCALCLOUD_PORT_OFFSET (a second cloud, or ports taken)."""
    return usual + int(os.environ.get("SHADOW_LOCALCLOUD_PORT_OFFSET") or 0)


def run_dir() -> Path:
    """Folder of pid files, sockets and locks."""
    return state_home() / "run"


def log_dir() -> Path:
    """Folder of the services' logs, `<service>.log` each."""
    return state_home() / "log"


def content_hash(*parts: Path | str) -> str:
    """Short hash over files (their bytes) and texts, in the order given."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:12]
