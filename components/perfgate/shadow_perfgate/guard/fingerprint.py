"""What machine and software this is: numbers are compared only where all of it is equal."""

import os
import platform
from pathlib import Path
from typing import Any

from shadow_perfgate.guard.nvml import Gpu
from shadow_perfgate.model import Fingerprint


def read(gpu: Gpu | None, software: dict[str, str] | None = None) -> Fingerprint:
    """Return this machine's fingerprint; `software` comes from the measured process (torch, CUDA, image)."""
    keys = of_gpu(gpu) if gpu is not None else {"gpu": "none", "vram_measured": "no"}
    return Fingerprint({**keys, **host(), **(software or {})})


def host() -> dict[str, str]:
    """Return the processor and the number of cores this process may use."""
    return {"cpu": _cpu(), "cores": str(len(os.sched_getaffinity(0)))}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def of_gpu(gpu: Gpu) -> dict[str, str]:
    """Return the class of a GPU, never its serial number: two cards of one class share a baseline."""
    memory = gpu.memory()
    power = gpu.number("PowerManagementLimit")
    found = {
        "gpu": gpu.text("Name", whole=True),
        "memory_mib": None if memory is None else f"{memory.total:.0f}",
        "mig": _mig(gpu),
        "power_limit_w": None if power is None else f"{power / 1000:.0f}",
        "ecc": _ecc(gpu),
        "sm_clock_max_mhz": _clock(gpu.number("MaxClockInfo", 1)),
        "sm_clock_set_mhz": _clock(gpu.number("ApplicationsClock", 1)),
        "compute_mode": gpu.text("ComputeMode", whole=True),
        "driver": _system(gpu, "DriverVersion"),
        "cuda_driver": _cuda(gpu),
    }
    return {key: value if value is not None else "unknown" for key, value in found.items()}


def _clock(found: float | None) -> str | None:
    return None if found is None else f"{found:.0f}"


def _mig(gpu: Gpu) -> str:
    if gpu.is_mig:
        return gpu.text("Name") or "slice"
    pair = _pair(gpu, "MigMode")
    return "on" if pair and pair[0] else "off"


def _ecc(gpu: Gpu) -> str | None:
    pair = _pair(gpu, "EccMode")
    return None if pair is None else "on" if pair[0] else "off"


def _pair(gpu: Gpu, name: str) -> list[int] | None:
    nvml: Any = gpu.nvml
    found: Any = gpu.ask(lambda: getattr(nvml, f"nvmlDeviceGet{name}")(gpu.whole))
    return None if found is None else [int(part) for part in found]


def _system(gpu: Gpu, name: str) -> str | None:
    found: Any = gpu.ask(getattr(gpu.nvml, f"nvmlSystemGet{name}"))
    return found.decode() if isinstance(found, bytes) else found


def _cuda(gpu: Gpu) -> str | None:
    found = gpu.ask(lambda: int(gpu.nvml.nvmlSystemGetCudaDriverVersion()))
    return None if found is None else f"{found // 1000}.{found % 1000 // 10}"
