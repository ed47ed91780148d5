"""The guest agent: makes what runs on this machine equal to what Nova says is ACTIVE, again and again."""

import logging
import threading
import time
from pathlib import Path

from localcloud.guests import boot_report, cloud_init, metadata, peers, sandbox
from localcloud.guests.firewall import allowed
from localcloud.guests.guest import Guest, Record, all_guests
from localcloud.guests.metadata_server import MetadataServers
from localcloud.guests.servers import Server, Servers, ServersError

_LOG = logging.getLogger("guests")
_ON = frozenset({"ACTIVE", "PASSWORD", "VERIFY_RESIZE"})
_LEFT_ALONE = frozenset(
    {"BUILD", "REBOOT", "HARD_REBOOT", "PAUSED", "SUSPENDED", "MIGRATING", "RESIZE", "UNKNOWN"}
)
_MAX_PAUSE_SECONDS = 60.0
_QUICK_SECONDS = 10.0
_TROUBLE_SECONDS = 15.0


class _Service:
    """Metadata service of one guest: Nova's newest record behind the guest's own firewall."""

    def __init__(self, guest: Guest, server: Server) -> None:
        self._guest = guest
        self.server = server

    def admits(self, client: tuple[str, int], port: int) -> bool:
        process = self._guest.process()
        if process is None:
            return False
        requester = peers.requester(client, port, process.pid, self._guest.root)
        if requester is None:
            return False
        rules = self._guest.root / "run/iptables/iptables.filter"
        return allowed(rules.read_text().splitlines() if rules.exists() else [], requester)

    def answer(self, path: str) -> bytes | None:
        return metadata.answer(self.server, path, self._guest.notice())


class Agent:
    """Follows a compute service; everything it must not forget lies in the guests' folders."""

    def __init__(self, servers: Servers, home: Path, unpacked: Path | None = None) -> None:
        self._servers = servers
        self._home = home
        self._unpacked = unpacked
        self._metadata = MetadataServers()
        self._services = dict[str, _Service]()
        self._reports = dict[str, boot_report.Reporter]()
        self._quick_ends = dict[str, int]()
        self._troubles = dict[str, tuple[str, float]]()
        for orphan in sandbox.orphans(home):
            _LOG.warning("process %d is a guest that nobody knows any more: it is killed", orphan.pid)
            orphan.kill()

    def tick(self) -> None:
        """One look at Nova and at the guests.

        Raises:
            ServersError: Nova didn't answer; the guests were left as they are.
        """
        servers = self._servers.list()
        self._forget({server.id for server in servers})
        for server in servers:
            try:
                self._follow(server)
            except (OSError, RuntimeError) as error:
                self._complain(server, str(error))
        sandbox.reap()
        for reporter in self._reports.values():
            reporter.update()

    def run(self, stop: threading.Event, heartbeat: Path, seconds: float) -> None:
        """Tick until told to stop, then end all guests; the heartbeat file shows that it lives."""
        failing = False
        while not stop.is_set():
            try:
                self.tick()
                failing = False
            except ServersError as error:
                if not failing:
                    _LOG.warning("Nova doesn't answer, guests are left as they are: %s", error)
                failing = True
            heartbeat.touch()
            stop.wait(seconds)
        self.close(kill=True)

    def close(self, *, kill: bool) -> None:
        """End the metadata services, and the guests too where asked."""
        self._metadata.close_all()
        for guest in all_guests(self._home) if kill else []:
            guest.kill()

    def _forget(self, existing: set[str]) -> None:
        for guest in all_guests(self._home):
            if guest.id not in existing:
                _LOG.info("server %s is gone: its guest is removed", guest.id)
                self._end_service(guest.id)
                guest.remove()

    def _complain(self, server: Server, text: str) -> None:
        """Log a trouble once, and leave the server alone for a while."""
        if self._troubles.get(server.id, ("", 0.0))[0] != text:
            _LOG.error("server %s (%s): %s", server.id, server.name, text)
        self._troubles[server.id] = (text, time.monotonic() + _TROUBLE_SECONDS)

    def _end_service(self, server_id: str) -> None:
        self._metadata.close(server_id)
        self._services.pop(server_id, None)
        self._reports.pop(server_id, None)
        self._quick_ends.pop(server_id, None)
        self._troubles.pop(server_id, None)

    def _follow(self, server: Server) -> None:
        guest = Guest(server.id, self._home)
        waiting = time.monotonic() < self._troubles.get(server.id, ("", 0.0))[1]
        if server.status in _ON and not waiting:
            self._keep_running(guest, server)
        elif server.status not in _LEFT_ALONE | _ON and guest.process():
            _LOG.info("server %s (%s) is %s: its guest is killed", server.id, server.name, server.status)
            guest.kill()

    def _keep_running(self, guest: Guest, server: Server) -> None:
        record = guest.record()
        port = self._serve(guest, server, record)
        self._reports.setdefault(guest.id, boot_report.Reporter(guest))
        if guest.process() is None:
            self._revive(guest, server, record)
        elif port != record.port:
            _LOG.warning("guest %s: port %s is taken, it is rebooted with another", guest.id, record.port)
            guest.kill()
            self._boot(guest, server, record)
        elif server.updated != record.updated:
            self._follow_actions(guest, server, record)

    def _serve(self, guest: Guest, server: Server, record: Record) -> int:
        service = self._services.setdefault(guest.id, _Service(guest, server))
        service.server = server
        return self._metadata.open(guest.id, service, record.port)

    def _follow_actions(self, guest: Guest, server: Server, record: Record) -> None:
        """Nova has changed the server's record: reboot the guest if it was a reboot, start or rebuild."""
        newest = next(iter(self._servers.power_actions(server.id)), None)
        if newest is None or newest.id == record.action:
            guest.remember(updated=server.updated)
            return
        guest.kill()
        if newest.name == "rebuild":
            guest.wipe()
        self._boot(guest, server, record)

    def _revive(self, guest: Guest, server: Server, record: Record) -> None:
        wish = guest.power_wish() if record.boots else ""
        if wish == "poweroff":
            newest = next(iter(self._servers.power_actions(server.id)), None)
            if (newest.id if newest else "") == record.action:
                self._servers.stop(server.id)
                return
        if record.boots and not wish and self._too_soon(guest, record):
            return
        self._boot(guest, server, record)

    def _too_soon(self, guest: Guest, record: Record) -> bool:
        """Whether a guest that keeps dying by itself must wait longer before its next boot."""
        lived = time.time() - record.booted_at
        pause = min(2.0 ** self._quick_ends.get(guest.id, 0) - 1, _MAX_PAUSE_SECONDS)
        if lived < pause:
            return True
        quick = lived < max(_QUICK_SECONDS, pause * 2)
        self._quick_ends[guest.id] = self._quick_ends.get(guest.id, 0) + 1 if quick else 0
        return False

    def _boot(self, guest: Guest, server: Server, record: Record) -> None:
        newest = next(iter(self._servers.power_actions(server.id)), None)
        port = self._serve(guest, server, record)
        guest.folder.mkdir(parents=True, exist_ok=True)
        guest.folder.chmod(0o700)
        guest.remember(
            name=server.name,
            port=port,
            boots=record.boots + 1,
            action=newest.id if newest else "",
            updated=server.updated,
            booted_at=time.time(),
        )
        if self._unpacked is None or not self._unpacked.is_dir():
            self._unpacked = cloud_init.fetch()
        guest.boot(server, f"http://127.0.0.1:{port}", self._unpacked)
        self._troubles.pop(guest.id, None)
        _LOG.info("guest %s (%s) boots, metadata on port %d", guest.id, server.name, port)
