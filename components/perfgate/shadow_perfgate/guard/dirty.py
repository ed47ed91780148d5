"""Is the GPU free? Foreign processes and memory that nobody owns up to make a measurement worthless."""

import fcntl
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from shadow_perfgate.errors import EnvironmentFaultError
from shadow_perfgate.guard.nvml import Gpu

SLACK_MIB = 64.0
"""Used memory above the idle level that is taken for idle."""
IDLE_MIB = 1024.0
"""Most that a driver which does not tell its reserve apart holds when idle (615 MiB seen on an H200)."""
HOT_C = 85.0
"""Temperature at the start above which clocks would drop soon."""


def faults(gpu: Gpu, idle_mib: float | None = None) -> tuple[str, ...]:
    """Return why the GPU is not fit to start on; `idle_mib` is the idle device's used memory if known."""
    return (*_foreign(gpu), *_memory(gpu, idle_mib), *_heat(gpu))


def _foreign(gpu: Gpu) -> list[str]:
    found = gpu.processes()
    return [
        f"GPU is busy: process {pid} ({_name(pid)}) holds {'unknown' if used is None else round(used)} MiB; "
        "stop it, or let the runner take one job at a time"
        for pid, used in sorted((found or {}).items())
    ]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return "in another container"


def _memory(gpu: Gpu, idle_mib: float | None) -> list[str]:
    memory = gpu.memory()
    if memory is None or gpu.processes():
        return []
    limit = IDLE_MIB if idle_mib is None else idle_mib + SLACK_MIB
    if memory.used <= limit:
        return []
    held = f"{memory.used:.0f} MiB used by no visible process, expected at most {limit:.0f}"
    return [
        f"GPU memory is not free: {held}; a job in another container or a zombie holds it: end it or reboot"
    ]


def _heat(gpu: Gpu) -> list[str]:
    found = gpu.temperature_c()
    if found is None or found < HOT_C:
        return []
    return [
        f"GPU is hot: {found:.0f} °C before the start, limit {HOT_C:.0f} °C; let it cool or check its fans"
    ]


def wait_until_free(
    gpu: Gpu, seconds: float, idle_mib: float | None = None, pause: Callable[[float], None] = time.sleep
) -> tuple[str, ...]:
    """Return the faults that remain after waiting up to `seconds` for an earlier process to let go."""
    found = faults(gpu, idle_mib)
    waited = 0.0
    while found and waited < seconds:
        pause(0.2)
        waited += 0.2
        found = faults(gpu, idle_mib)
    return found


@contextmanager
def exclusive(gpu: Gpu | None) -> Generator[None]:
    """Hold this GPU's lock: two gates on one machine would measure each other."""
    uuid = gpu.text("UUID", whole=True) if gpu is not None else "cpu"
    path = Path(tempfile.gettempdir()) / f"shadow-perfgate-{uuid or 'gpu'}.lock"
    with path.open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EnvironmentFaultError(
                f"GPU {uuid}: another measurement is running ({path} is locked); "
                "let the runner take one job at a time"
            ) from error
        yield
