"""The GPUs that a guest has and the fault that they show, as the guest agent wrote them."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("/.host/hardware")
MARKS = Path("/run/nvidia")
"""Marks of the driver's history, lent to containers with a GPU at `/.host/nvidia`."""
_MARKS_IN_CONTAINER = Path("/.host/nvidia")
_CONTAINER = Path("/.dockerenv")
BOOT_MARK = "boot-started"
RELOAD_MARK = "daemon-reloaded"


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs of one model: how many are fitted, how many answer now, and the fault in force."""

    model: str
    memory_mib: int
    fitted: int
    fault: str

    @property
    def visible(self) -> int:
        """How many answer."""
        return max(self.fitted - 1, 0) if self.fault == "one-of-two" else self.fitted


def read(folder: Path = FOLDER) -> Gpus:
    """GPUs of this guest; none where the flavor has none."""
    described = _json(folder / "gpu.json")
    fault = str(_json(folder / "faults.json").get("gpu", ""))
    return Gpus(
        str(described.get("model", "")),
        int(str(described.get("memory_mib", 0))),
        int(str(described.get("count", 0))),
        fault,
    )


def in_container() -> bool:
    """Whether this program runs in a container."""
    return _CONTAINER.exists()


def still_late(fault: str) -> bool:
    """Whether a `late:SECONDS` fault still holds, counted from the guest's boot."""
    booted = _changed(BOOT_MARK)
    return booted is not None and time.time() < booted + float(fault.partition(":")[2] or 0)


def lost_by_reload() -> bool:
    """Whether this container was running when systemd reloaded its units and took the devices away."""
    reloaded = _changed(RELOAD_MARK)
    return in_container() and reloaded is not None and _CONTAINER.stat().st_mtime < reloaded


def _changed(mark: str) -> float | None:
    path = (_MARKS_IN_CONTAINER if in_container() else MARKS) / mark
    return path.stat().st_mtime if path.exists() else None


def _json(path: Path) -> dict[str, object]:
    try:
        found: dict[str, object] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found
