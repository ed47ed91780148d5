"""What a server leaves behind."""

from dataclasses import dataclass
from enum import StrEnum


class LeftoverKind(StrEnum):
    """Kinds in the order of removal."""

    FLOATING_IP = "floating-ip"
    PORT = "port"
    VOLUME = "volume"
    KEYPAIR = "keypair"


@dataclass(frozen=True, slots=True, order=True)
class Leftover:
    """Something with our mark that no server uses."""

    kind: LeftoverKind
    leftover_id: str
    vm: str
    """Name of the VM in its mark."""
