"""The newest entries of a table that would otherwise grow for ever."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Recent(Generic[K, V]):
    """At most so many entries; the one that was put first goes first. Safe from several threads."""

    most: int = 4096
    _entries: "OrderedDict[K, V]" = field(default_factory=OrderedDict[K, V])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: K) -> V | None:
        """Return an entry; None where there is none."""
        with self._lock:
            return self._entries.get(key)

    def put(self, key: K, value: V) -> V:
        """Keep an entry as the newest one; return it."""
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = value
            while len(self._entries) > self.most:
                self._entries.popitem(last=False)
        return value

    def drop(self, key: K) -> None:
        """Forget an entry."""
        with self._lock:
            self._entries.pop(key, None)

    def copy(self) -> dict[K, V]:
        """Return all entries as they are now, oldest first."""
        with self._lock:
            return dict(self._entries)
