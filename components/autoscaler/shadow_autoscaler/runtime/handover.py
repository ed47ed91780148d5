"""Runner configurations between the forge and the VM that waits: in memory, short-lived, given once."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from shadow_autoscaler.ports import Registration

LIFETIME_S = 60.0
"""How long a configuration that nobody fetched is kept; then the VM gets a new one."""


@dataclass(frozen=True, slots=True)
class _Kept:
    registration: Registration
    until: float


class Handover:
    """One place per VM. A configuration that was handed out, or grew old, is gone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._waiting: dict[str, Future[Registration | None]] = {}

    def ask(self, vm: str) -> "Future[Registration | None]":
        """Return what is there, or what comes; a former request of the same VM gets None."""
        with self._lock:
            self._expire()
            former = self._waiting.pop(vm, None)
            future: Future[Registration | None] = Future()
            kept = self._kept.pop(vm, None)
            if kept is None:
                self._waiting[vm] = future
        if former is not None:
            former.set_result(None)
        if kept is not None:
            future.set_result(kept.registration)
        return future

    def deliver(self, vm: str, registration: Registration) -> None:
        """Give a new configuration to the VM's request, or keep it for a while."""
        with self._lock:
            self._expire()
            future = self._waiting.pop(vm, None)
            if future is None:
                self._kept[vm] = _Kept(registration, self._clock() + LIFETIME_S)
        if future is not None:
            future.set_result(registration)

    def fail(self, vm: str) -> None:
        """Tell the VM's request that there is nothing for now."""
        with self._lock:
            future = self._waiting.pop(vm, None)
            self._kept.pop(vm, None)
        if future is not None:
            future.set_result(None)

    def withdraw(self, vm: str, future: "Future[Registration | None]") -> Registration | None:
        """End a request that waited too long; return what came at the last moment."""
        with self._lock:
            if self._waiting.get(vm) is future:
                del self._waiting[vm]
                return None
        return future.result(timeout=0) if future.done() else None

    def clear(self) -> None:
        """Forget everything and let every request go: another process decides."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._kept.clear()
        for future in waiting.values():
            future.set_result(None)

    def _expire(self) -> None:
        now = self._clock()
        for vm in [vm for vm, kept in self._kept.items() if kept.until <= now]:
            del self._kept[vm]
