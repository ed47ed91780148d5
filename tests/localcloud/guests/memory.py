"""`Servers` in memory, for tests: behaves as the Nova adapter does, without a cloud."""

import itertools
from dataclasses import replace

from localcloud.guests.servers import PowerAction, Server, ServersError


class MemoryServers:
    """Servers held in a dictionary; `down` makes every verb fail as an unreachable Nova does."""

    def __init__(self) -> None:
        self.down = False
        self._servers: dict[str, Server] = {}
        self._actions: dict[str, list[PowerAction]] = {}
        self._serial = itertools.count(1)

    def add(self, server: Server) -> None:
        """Put a server in, or in place of the one with its id."""
        self._servers[server.id] = self._touched(server)

    def list(self) -> tuple[Server, ...]:
        """See `Servers.list`."""
        self._answer()
        return tuple(self._servers.values())

    def power_actions(self, server_id: str) -> tuple[PowerAction, ...]:
        """See `Servers.power_actions`."""
        self._answer()
        return tuple(reversed(self._actions.get(server_id, [])))

    def stop(self, server_id: str) -> None:
        """See `Servers.stop`."""
        self._answer()
        if server_id in self._servers:
            self._set(server_id, "SHUTOFF")

    def start(self, server_id: str) -> None:
        """Switch a stopped server on."""
        self._act(server_id, "start")

    def reboot(self, server_id: str) -> None:
        """Reboot an active server."""
        self._act(server_id, "reboot")

    def delete(self, server_id: str) -> None:
        """Take a server away."""
        self._servers.pop(server_id, None)

    def _act(self, server_id: str, name: str) -> None:
        self._actions.setdefault(server_id, []).append(PowerAction(f"req-{next(self._serial)}", name))
        self._set(server_id, "ACTIVE")

    def _set(self, server_id: str, status: str) -> None:
        self._servers[server_id] = self._touched(replace(self._servers[server_id], status=status))

    def _touched(self, server: Server) -> Server:
        return replace(server, updated=f"2026-01-01T00:00:{next(self._serial):02d}Z")

    def _answer(self) -> None:
        if self.down:
            raise ServersError("GET /servers/detail: connection refused (switched off by the test)")
