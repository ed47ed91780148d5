"""Runs a service without threads: for functions that are called, and for tests."""

from collections.abc import Callable

from shadow_autoscaler.core.events import Tick
from shadow_autoscaler.runtime.outbox import Lane
from shadow_autoscaler.runtime.service import Service


class Turns:
    """One caller's turns at a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._workers = [service.worker(lane) for lane in Lane]

    def take(self) -> bool:
        """Take or renew the lease; False when another process has it."""
        self._service.lease.step()
        return self._service.engine.active

    def work(self, until: float, enough: Callable[[], bool] = lambda: False) -> bool:
        """Handle the inbox and carry out what is due; False when something is left."""
        while self._service.engine.clock() < until and not enough():
            handled = self._service.inbox.step()
            carried_out = [worker.step() for worker in self._workers]
            if not handled and not any(carried_out):
                return True
        return False

    def look(self) -> None:
        """Let time pass, and look at everything once."""
        self._service.engine.handle(Tick())
        for read in self._service.reads:
            read.step()
