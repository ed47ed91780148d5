"""NVIDIA's management library behind a few questions; what a driver or MIG slice refuses is None, not 0."""

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

MIB = 2**20
T = TypeVar("T")
THROTTLES = {
    0x8: "HwSlowdown",
    0x20: "SwThermalSlowdown",
    0x40: "HwThermalSlowdown",
    0x80: "HwPowerBrakeSlowdown",
}
"""Clock-event reasons that spoil a run."""
OBSERVED = {0x4: "SwPowerCap", 0x10: "SyncBoost"}
"""Reasons that are reported only: code that draws more power and is clocked down is slower."""


class NvmlMissingError(Exception):
    """There is no NVIDIA driver or no nvidia-ml-py here; the text says which."""


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """Memory of one GPU or MIG slice, MiB."""

    total: float
    used: float
    """What processes hold; the driver's own reserve is left out when the driver tells it apart."""
    reserved: float | None


class Gpu:
    """One GPU or MIG slice as NVML shows it."""

    def __init__(self, nvml: Any, handle: Any, parent: Any = None) -> None:
        self.nvml = nvml
        self.handle = handle
        self.whole = parent or handle
        """The physical GPU: clocks, power and temperature exist only there."""
        self.is_mig = parent is not None

    def ask(self, question: Callable[[], T]) -> T | None:
        """Return the answer, or None when this driver, container or slice does not give it."""
        try:
            return question()
        except self.nvml.NVMLError:
            return None

    def text(self, name: str, *, whole: bool = False) -> str | None:
        """Return the answer of `nvmlDeviceGet<name>` as text."""
        call = getattr(self.nvml, f"nvmlDeviceGet{name}")
        found = self.ask(lambda: call(self.whole if whole else self.handle))
        return found.decode() if isinstance(found, bytes) else None if found is None else str(found)

    def number(self, name: str, *arguments: int) -> float | None:
        """Return the answer of `nvmlDeviceGet<name>` of the physical GPU as a number."""
        call = getattr(self.nvml, f"nvmlDeviceGet{name}", None)
        found = None if call is None else self.ask(lambda: call(self.whole, *arguments))
        return None if found is None else float(found)

    def memory(self) -> GpuMemory | None:
        """Return total and used memory; needs no privileges."""
        version = getattr(self.nvml, "nvmlMemory_v2", None)
        read = self.nvml.nvmlDeviceGetMemoryInfo
        found: Any = self.ask(lambda: read(self.handle, version=version)) if version else None
        if found is None:
            plain: Any = self.ask(lambda: read(self.handle))
            return None if plain is None else GpuMemory(plain.total / MIB, plain.used / MIB, None)
        busy = found.total - found.free - found.reserved
        return GpuMemory(found.total / MIB, busy / MIB, found.reserved / MIB)

    def processes(self) -> dict[int, float | None] | None:
        """Return process id to MiB used; None when the driver hides processes. A process counts once."""
        found: dict[int, float | None] = {}
        answered = False
        for name in ("ComputeRunningProcesses", "GraphicsRunningProcesses"):
            call = getattr(self.nvml, f"nvmlDeviceGet{name}")
            listed: Any = self.ask(partial(call, self.handle))
            answered = answered or listed is not None
            for process in listed or ():
                used = process.usedGpuMemory
                found[int(process.pid)] = None if used is None else used / MIB
        return found if answered else None

    def clock_events(self) -> int | None:
        """Return the bits of the reasons why clocks are below the maximum."""
        for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
            call = getattr(self.nvml, name, None)
            if call is not None:
                found: Any = self.ask(partial(call, self.whole))
                return None if found is None else int(found)
        return None

    def energy_j(self) -> float | None:
        """Return the physical GPU's energy counter in joules."""
        found = self.number("TotalEnergyConsumption")
        return None if found is None else found / 1000

    def power_w(self) -> float | None:
        """Return the power drawn now in watts."""
        found = self.number("PowerUsage")
        return None if found is None else found / 1000

    def sm_clock_mhz(self) -> float | None:
        """Return the multiprocessors' clock in MHz."""
        return self.number("ClockInfo", 1)

    def temperature_c(self) -> float | None:
        """Return the temperature in degrees Celsius."""
        return self.number("Temperature", 0)


def library() -> Any:
    """Return `pynvml`, initialised; raises `NvmlMissingError` saying what is not there."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        raise NvmlMissingError("nvidia-ml-py is not installed: pip install nvidia-ml-py") from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NvmlMissingError(f"no NVIDIA driver answers: {error}") from error
    return nvml


def open_gpu(device: str | None = None, nvml: Any = None) -> Gpu:
    """Return the GPU named by index or UUID (MIG slices too); by default the first that CUDA would use."""
    nvml = nvml or library()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    name = device or visible or "0"
    try:
        if name.isdecimal():
            return Gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(int(name)))
        handle = nvml.nvmlDeviceGetHandleByUUID(name)
        if not name.startswith("MIG-"):
            return Gpu(nvml, handle)
        return Gpu(nvml, handle, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle))
    except nvml.NVMLError as error:
        raise NvmlMissingError(f"GPU {name!r} (device or CUDA_VISIBLE_DEVICES): {error}") from error
