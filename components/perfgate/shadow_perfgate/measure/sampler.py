"""Samples the GPU and the host from the parent, so that the measured process does nothing more."""

import itertools
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from shadow_perfgate.guard.nvml import Gpu
from shadow_perfgate.measure.process import members

PERIOD_S: Final = 0.05
"""Time between samples; shorter peaks are seen by the allocator's own counters only."""
MEMBERS_EVERY: Final = 10
"""Samples after which the group's processes are listed again; one that seems foreign is looked up at once."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one moment; None is "not told", never zero."""

    at_ns: int
    device_mib: float | None = None
    process_mib: float | None = None
    """VRAM of the worker's processes."""
    foreign: tuple[int, ...] = ()
    """Other processes on the GPU while the worker's own are visible."""
    events: int | None = None
    clock_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    energy_j: float | None = None
    host_mib: float | None = None


@dataclass(slots=True)
class Sampler:
    """A thread that samples until the context is left."""

    gpu: Gpu | None
    group: int
    period_s: float = PERIOD_S
    samples: list[Sample] = field(default_factory=list[Sample])
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._sample, name="sampler", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _sample(self) -> None:
        own: tuple[int, ...] = ()
        for number in itertools.count():
            # Reading all of /proc for every sample would take a fifth of a core.
            if number % MEMBERS_EVERY == 0 or number < MEMBERS_EVERY:
                own = members(self.group)
            sample = take(self.gpu, own)
            if sample.foreign:
                own = members(self.group)
                sample = take(self.gpu, own)
            self.samples.append(sample)
            if self._stop.wait(self.period_s):
                return


def take(gpu: Gpu | None, own: tuple[int, ...]) -> Sample:
    """Return one sample of the GPU and of the processes `own`."""
    now, host = time.monotonic_ns(), resident(own)
    if gpu is None:
        return Sample(now, host_mib=host)
    memory = gpu.memory()
    mine, foreign = split(gpu.processes(), own)
    return Sample(
        now,
        device_mib=None if memory is None else memory.used,
        process_mib=mine,
        foreign=foreign,
        events=gpu.clock_events(),
        clock_mhz=gpu.sm_clock_mhz(),
        power_w=gpu.power_w(),
        temperature_c=gpu.temperature_c(),
        energy_j=gpu.energy_j(),
        host_mib=host,
    )


def split(
    listed: dict[int, float | None] | None, own: tuple[int, ...]
) -> tuple[float | None, tuple[int, ...]]:
    """Return the VRAM of our own processes and the ids of the others.

    Where the driver lists ids of another namespace, none is ours and nothing can be said about either.
    """
    mine = [used for pid, used in (listed or {}).items() if pid in own]
    if not mine:
        return None, ()
    known = [used for used in mine if used is not None]
    return (sum(known) if known else None), tuple(sorted(pid for pid in listed or {} if pid not in own))


def resident(pids: tuple[int, ...]) -> float:
    """Return the resident memory of the processes in MiB; those that ended meanwhile count nothing."""
    total = 0
    for pid in pids:
        with suppress(OSError, IndexError):
            total += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * 4096
    return total / 2**20
