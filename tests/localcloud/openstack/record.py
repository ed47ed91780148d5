"""What is made in the databases so far, so that an interrupted `up` goes on and an old state is seen."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from localcloud.openstack import layout
from localcloud.world import write_private


@dataclass(frozen=True, slots=True)
class Record:
    """Steps done for one configuration."""

    fingerprint: str
    schema: bool = False
    catalog: bool = False
    hosts: bool = False
    seed: str = ""
    """Fingerprint of the seeds that were applied."""

    @staticmethod
    def path() -> Path:
        """File of the live state; the snapshot keeps a copy of its own."""
        return layout.home() / "record.json"

    @classmethod
    def load(cls) -> Self | None:
        """Read it; None where nothing was made yet or the file is of an unknown form."""
        try:
            return cls(**json.loads(cls.path().read_text()))
        except (FileNotFoundError, TypeError, json.JSONDecodeError):
            return None

    def done(self, **steps: bool | str) -> "Record":
        """Note steps as done, at once on disk."""
        after = replace(self, **steps)  # type: ignore[arg-type]
        write_private(self.path(), json.dumps(asdict(after)))
        return after
