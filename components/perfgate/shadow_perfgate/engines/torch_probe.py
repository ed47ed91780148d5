"""What PyTorch knows about memory and GPU time, if the measured code uses it; else nothing is claimed."""

import gc
import sys
from collections.abc import Callable
from typing import Any

MIB = 2**20


class TorchProbe:
    """Reads allocator peaks and kernel time of the first CUDA device of this process."""

    def __init__(self) -> None:
        torch: Any = sys.modules.get("torch")
        self._torch: Any = torch if torch is not None and torch.cuda.is_available() else None

    @property
    def present(self) -> bool:
        """Return whether the measured code runs PyTorch on a GPU."""
        return self._torch is not None and bool(self._torch.cuda.is_initialized())

    def synchronize(self) -> None:
        """Wait until the GPU has done all it was given."""
        if self.present:
            self._torch.cuda.synchronize()

    def reset_peaks(self) -> None:
        """Forget the peaks of loading and warm-up."""
        if self.present:
            self._torch.cuda.reset_peak_memory_stats()

    def peaks(self) -> dict[str, float]:
        """Return the allocator's peaks in MiB and its retries, since `reset_peaks`."""
        if not self.present:
            return {}
        cuda = self._torch.cuda
        return {
            "peak_vram_allocated": cuda.max_memory_allocated() / MIB,
            "peak_vram_reserved": cuda.max_memory_reserved() / MIB,
            "alloc_retries": float(cuda.memory_stats().get("num_alloc_retries", 0)),
        }

    def quiescent(self) -> float | None:
        """Return the MiB allocated now that nothing is in flight, or None without a GPU."""
        if not self.present:
            return None
        self._torch.cuda.synchronize()
        gc.collect()
        return float(self._torch.cuda.memory_allocated()) / MIB

    def kernel_seconds(self, work: Callable[[], object]) -> float | None:
        """Run `work` under the profiler; return how long the GPU was busy with kernels, copies and fills."""
        if not self.present:
            return None
        profiler: Any = sys.modules["torch"].profiler
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
            work()
            self._torch.cuda.synchronize()
        cuda = self._torch.autograd.DeviceType.CUDA
        spans = [(e.time_range.start, e.time_range.end) for e in profile.events() if e.device_type == cuda]
        return union(spans) / 1e6 if spans else None


def union(spans: list[tuple[float, float]]) -> float:
    """Return the length covered by intervals, where overlaps count once."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
