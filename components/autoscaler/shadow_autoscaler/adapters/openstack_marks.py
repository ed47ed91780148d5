"""Ownership marks: what carries this deployment's mark is ours, and nothing else is ever touched."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_PREFIX = "shadow-gpu-runners"
_COMPONENT = "autoscaler"
_OWN_KEYS = ("managed-by", "deployment", "component")
_VALUE_LIMIT = 255


@dataclass(frozen=True, slots=True)
class Marks:
    """Writes and reads the marks of one deployment."""

    deployment: str

    def metadata(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return Nova or Cinder metadata with the mark and these values, each cut to 255 characters."""
        values = {**own, **self._mark()}
        return {f"{_PREFIX}.{key}": value[:_VALUE_LIMIT] for key, value in values.items() if value}

    def read(self, metadata: Mapping[str, str] | None) -> dict[str, str] | None:
        """Return the values beside the mark, without the common prefix; None for what is not ours."""
        start = f"{_PREFIX}."
        items = (metadata or {}).items()
        values = {key.removeprefix(start): value for key, value in items if key.startswith(start)}
        if not self._mark().items() <= values.items():
            return None
        return {key: value for key, value in values.items() if key not in _OWN_KEYS}

    def description(self, vm: str) -> str:
        """Return the mark as a Neutron description."""
        return " ".join(f"{key}={value}" for key, value in {**self._mark(), "vm": vm}.items())

    def described(self, description: str | None, tags: Iterable[str] = ()) -> str | None:
        """Return the VM named there, empty where none is; None for what is not ours."""
        words = [*(description or "").split(), *tags]
        values = dict(word.split("=", 1) for word in words if "=" in word)
        return values.get("vm", "") if self._mark().items() <= values.items() else None

    def _mark(self) -> dict[str, str]:
        return {"managed-by": _PREFIX, "deployment": self.deployment, "component": _COMPONENT}
