"""The requests seen, for tests that ask who called what; secrets are masked."""

import re
from collections import deque
from dataclasses import dataclass, field

from localcloud.github.store import Doc, as_doc, as_list

_KEEP = 5_000
_SECRET_KEYS = re.compile(r"(secret|token|password|encrypted_value|encoded_jit_config|value)$", re.IGNORECASE)
MASK = "********"


@dataclass(slots=True)
class Journal:
    """The last requests, oldest first."""

    entries: deque[Doc] = field(default_factory=lambda: deque(maxlen=_KEEP))

    def add(self, entry: Doc) -> None:
        """Keep one request."""
        self.entries.append(entry)


def masked(value: object) -> object:
    """A copy of a JSON value whose secrets are replaced."""
    pairs, items = as_doc(value), as_list(value)
    if pairs is not None:
        return {
            key: MASK if _SECRET_KEYS.search(key) and isinstance(item, str) else masked(item)
            for key, item in pairs.items()
        }
    return value if items is None else [masked(item) for item in items]
