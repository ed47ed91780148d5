"""What the guest agent needs of a compute service: the `Servers` port and its values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class ServersError(RuntimeError):
    """The compute service could not be asked; nothing may be concluded about any server."""


@dataclass(frozen=True, slots=True)
class Address:
    """One fixed or floating IP address of a server."""

    ip: str
    network: str
    mac: str = ""
    kind: str = "fixed"


@dataclass(frozen=True, slots=True)
class Server:
    """One server as Nova records it, whatever its tenant; user-data is left out of `repr`."""

    id: str
    name: str
    status: str
    flavor: str
    project_id: str = ""
    updated: str = ""
    zone: str = ""
    key_name: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    addresses: tuple[Address, ...] = ()
    volumes: tuple[str, ...] = ()
    """IDs of the attached volumes that outlive the server."""
    user_data: str = field(default="", repr=False)
    """As Nova stores it: base64."""


@dataclass(frozen=True, slots=True)
class PowerAction:
    """One `reboot`, `start` or `rebuild` that was asked of a server, with the request's id."""

    id: str
    name: str


class Servers(Protocol):
    """The compute service, over all tenants.

    Every verb raises `ServersError` where the service doesn't answer, so that a failed list is never taken
    for an empty one.
    """

    def list(self) -> tuple[Server, ...]:
        """All servers that exist, in any status."""
        ...

    def power_actions(self, server_id: str) -> tuple[PowerAction, ...]:
        """Reboots, starts and rebuilds of a server, newest first; empty for an unknown server."""
        ...

    def stop(self, server_id: str) -> None:
        """Switch a server off, as its own `poweroff` does; an unknown or stopped server is left as it is."""
        ...
