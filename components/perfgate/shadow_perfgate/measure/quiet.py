"""What the worker does to be quiet beside its engine: fixed hashes, pinned cores, no collector."""

import gc
import os
from collections.abc import Generator
from contextlib import contextmanager

ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}
"""Set for every worker: sets keep their order in all fresh processes, and CUDA counts GPUs as NVML does."""


def pin(cores: int) -> tuple[int, ...]:
    """Pin this process to the last `cores` it may use, as interrupts favour the first; 0 leaves it free."""
    allowed = sorted(os.sched_getaffinity(0))
    if not cores:
        return tuple(allowed)
    chosen = allowed[-cores:]
    os.sched_setaffinity(0, chosen)
    return tuple(chosen)


@contextmanager
def collector_off() -> Generator[None]:
    """Keep Python's cyclic collector from running inside a timed pass."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
