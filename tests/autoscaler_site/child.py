"""A server in a process of its own, whose cloud and forge live in the test that started it."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any

from autoscaler_site.site import PACE
from shadow_autoscaler.adapters import github_events
from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.core.faults import Failure, PortError
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.edge import config as configuration
from shadow_autoscaler.edge.serve import serve
from shadow_autoscaler.edge.wiring import Base
from shadow_autoscaler.ports import Commit, Delivery, Outgoing
from shadow_autoscaler.runtime.service import World


class Manager(BaseManager):
    """Carries calls of ports from one process to another."""


class Far:
    """The test's side: makes calls, and returns failures as values."""

    def __init__(self, port: Any) -> None:
        self._port = port

    def call(self, name: str, values: Sequence[Any], named: dict[str, Any]) -> tuple[Any, Failure | None]:
        """Make a call of the port."""
        try:
            return getattr(self._port, name)(*values, **named), None
        except PortError as error:
            return None, error.failure


class Near:
    """The server's side: looks like the port."""

    def __init__(self, far: Any, kind: ForgeKind | None = None) -> None:
        self._far, self.kind = far, kind

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            answer, failure = self._far.call(name, values, named)
            if failure is not None:
                raise PortError(failure)
            return answer

        return call


class DeadlyStore(SqliteStore):
    """Kills its process right after the n-th write, the first delivery's being the first."""

    left = 0
    # The first round may write before the process listens; how often depends on the load.
    counting = False

    def accept(self, deliveries: Sequence[Delivery]) -> Sequence[bool]:
        """Write deliveries."""
        answer = super().accept(deliveries)
        DeadlyStore.counting = True
        self._count()
        return answer

    def commit(self, commit: Commit) -> Sequence[Outgoing]:
        """Write a transaction."""
        answer = super().commit(commit)
        self._count()
        return answer

    def _count(self) -> None:
        DeadlyStore.left -= self.counting
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main(file: Path, address: str, writes: int) -> int:
    """Serve with ports in another process; die after so many writes, or never (0)."""
    Manager.register("cloud")
    Manager.register("github")
    manager = Manager(address, b"test")
    manager.connect()
    base = Base.of(configuration.load(file), file.parent)
    if writes:
        base.store.__class__, DeadlyStore.left = DeadlyStore, writes
    world = World(
        cloud=Near(manager.cloud()),  # type: ignore[attr-defined]
        forges={ForgeKind.GITHUB: Near(manager.github(), ForgeKind.GITHUB)},  # type: ignore[attr-defined, dict-item]
        translate={ForgeKind.GITHUB: github_events.events},
        user_data=lambda vm: f"#cloud-config {vm.name}",
        pace=PACE,
    )
    return serve(base, outside=world)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
