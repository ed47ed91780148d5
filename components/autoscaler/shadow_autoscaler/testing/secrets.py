"""Secrets in memory."""

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.testing.faults import FaultPlan


class FakeSecrets:
    """A `Secrets` whose values a test sets and rotates."""

    def __init__(self, values: dict[str, str] | None = None, faults: FaultPlan | None = None) -> None:
        self._values: dict[str, tuple[str, ...]] = {name: (value,) for name, value in (values or {}).items()}
        self._faults = faults or FaultPlan()

    def rotate(self, name: str, value: str) -> None:
        """Set a new value; the one before stays valid beside it."""
        self._values[name] = (value, *self._values.get(name, ())[:1])

    def forget(self, name: str) -> None:
        """End a rotation: only the current value stays."""
        self._values[name] = self._values[name][:1]

    def get(self, name: str) -> tuple[str, ...]:
        """Return the current value and, in a rotation, the former one."""
        with self._faults.call("secrets.get", writes=False):
            if name not in self._values:
                raise PortError(Failure(FailureKind.CONFIG, f"secret {name!r} is not set"))
            return self._values[name]
