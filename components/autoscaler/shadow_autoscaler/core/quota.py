"""The project's limits, as room that is left."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """Room left in the project; None where there is no limit or it cannot be read."""

    read_at: float
    instances: int | None = None
    cores: int | None = None
    ram_mib: int | None = None
    volumes: int | None = None
    gigabytes: int | None = None
    ports: int | None = None
