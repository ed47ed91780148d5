"""How often a VM may call: whoever has its ticket, such as a job that is root, must not fill the inbox."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

BURST = 60
"""Calls of one kind at once; a whole boot makes about twenty."""
EVERY_S = 2.0
"""Time in which a VM earns one more."""
_MANY = 4096


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Budget:
    """A token bucket per VM and kind of call; it is asked only about VMs whose ticket is valid."""

    def __init__(
        self, clock: Callable[[], float], burst: float = float(BURST), every_s: float = EVERY_S
    ) -> None:
        self._clock, self._burst, self._every_s = clock, burst, every_s
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def spend(self, vm: str, kind: str) -> int:
        """Take one call; return 0, or the seconds until the next one is allowed."""
        with self._lock:
            bucket = self._bucket(vm, kind)
            if bucket.left < 1.0:
                return math.ceil((1.0 - bucket.left) * self._every_s)
            bucket.left -= 1.0
            return 0

    def _bucket(self, vm: str, kind: str) -> _Bucket:
        now = self._clock()
        if len(self._buckets) >= _MANY and (vm, kind) not in self._buckets:
            self._forget_full(now)
        bucket = self._buckets.setdefault((vm, kind), _Bucket(self._burst, now))
        bucket.left, bucket.at = self._filled(bucket, now), now
        return bucket

    def _filled(self, bucket: _Bucket, now: float) -> float:
        return min(self._burst, bucket.left + max(0.0, now - bucket.at) / self._every_s)

    def _forget_full(self, now: float) -> None:
        self._buckets = {
            key: bucket for key, bucket in self._buckets.items() if self._filled(bucket, now) < self._burst
        }
