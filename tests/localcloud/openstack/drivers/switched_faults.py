"""Faults that a test has switched on, read at every operation."""

import os
import time
from collections.abc import Mapping
from pathlib import Path


def value(name: str, *, project: str = "", metadata: Mapping[str, str] | None = None) -> str:
    """Value of a fault, empty where it is off.

    The narrowest place wins: metadata `fault.<name>` of the server or volume, then the file
    `<name>.<project>`, then the file `<name>`, both in $LOCALCLOUD_FAULTS.
    """
    if metadata and (own := metadata.get(f"fault.{name}")):
        return own
    folder = Path(os.environ["LOCALCLOUD_FAULTS"])
    for file in (f"{name}.{project}", name):
        try:
            return (folder / file).read_text().strip()
        except OSError:
            continue
    return ""


def delay(name: str, *, project: str = "", metadata: Mapping[str, str] | None = None) -> None:
    """Sleep for the fault's number of seconds."""
    if seconds := value(name, project=project, metadata=metadata):
        time.sleep(float(seconds))
