"""An OpenStack project in memory: servers build, run short of hosts, fail, are reclaimed, and cost money."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.leftovers import Leftover, LeftoverKind
from shadow_autoscaler.core.machines import Server, ServerStatus
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.ports import ServerSpec
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.faults import FaultPlan


@dataclass(slots=True)
class CloudTraits:
    """How the cloud behaves; a test may change it at any time."""

    flavors: dict[str, int | None] = field(default_factory=dict[str, int | None])
    """Hosts with room for each flavor, None without limit; any other flavor is a CONFIG failure.

    An empty mapping knows every flavor.
    """
    instances: int | None = None
    """Quota."""
    build_s: tuple[float, float] = (15.0, 45.0)
    delete_s: tuple[float, float] = (2.0, 8.0)
    error_share: float = 0.0
    """Builds that end in ERROR for a reason other than room."""
    stuck_share: float = 0.0
    """Deletions that do nothing and have to be asked for again."""
    leftover_share: float = 0.0
    """Deletions that leave a port behind."""
    sync_capacity: bool = False
    """Whether a lack of hosts is said by the create call itself."""


@dataclass(slots=True)
class Bill:
    """What one server was billed for: from its creation until it is gone, whatever its status."""

    vm: str
    flavor: str
    since: float
    until: float | None = None


NO_HOST = "No valid host was found. There are not enough hosts available."


class FakeCloud:
    """A `Cloud` for one deployment."""

    def __init__(
        self,
        clock: VirtualClock,
        faults: FaultPlan | None = None,
        traits: CloudTraits | None = None,
        seed: int = 0,
    ) -> None:
        self.clock, self.traits = clock, traits or CloudTraits()
        self.bills: dict[str, Bill] = {}
        """By server ID, gone servers included."""
        self.user_data: dict[str, str] = {}
        self.on_active: Callable[[Server], None] = lambda _: None
        """Called when a server starts to run."""
        self.on_down: Callable[[Server], None] = lambda _: None
        """Called when a server stops to run, whatever the reason."""
        self._faults, self._random = faults or FaultPlan(), random.Random(seed)  # noqa: S311 (test data)
        self._servers: dict[str, Server] = {}
        self._leftovers: dict[str, Leftover] = {}
        self._shown: tuple[Server, ...] = ()

    def create(self, spec: ServerSpec) -> Server:
        """Take a create call, or refuse it for quota, an unknown flavor or lack of hosts."""
        with self._faults.call("cloud.create"):
            self._admit(spec)
            server = self._new(spec)
            self.clock.after(
                self._random.uniform(*self.traits.build_s), lambda: self._built(server.server_id)
            )
            return server

    def servers(self, vm: str = "") -> tuple[Server, ...]:
        """Return servers; a stale list of all shows what the former call showed, that of one VM never is."""
        with self._faults.call("cloud.servers", writes=False):
            if vm:
                return tuple(one for one in self._servers.values() if one.marks.get("vm") == vm)
            if not self._faults.stale("cloud.servers"):
                self._shown = tuple(self._servers.values())
            return self._shown

    def server(self, server_id: str) -> Server | None:
        """Return the server as it is now."""
        with self._faults.call("cloud.server", writes=False):
            return self._servers.get(server_id)

    def delete(self, server_id: str) -> None:
        """Begin a deletion."""
        with self._faults.call("cloud.delete"):
            server = self._servers.get(server_id)
            if server is None or self._random.random() < self.traits.stuck_share:
                return
            self._stop(server_id, ServerStatus.DELETING, "ACTIVE/deleting")
            self.clock.after(self._random.uniform(*self.traits.delete_s), lambda: self.vanish(server_id))

    def console(self, server_id: str) -> str:
        """Return a console log."""
        with self._faults.call("cloud.console", writes=False):
            return f"console of {server_id}\n"

    def quota(self) -> Quota:
        """Return the room that is left."""
        with self._faults.call("cloud.quota", writes=False):
            limit = self.traits.instances
            return Quota(self.clock.now(), None if limit is None else limit - len(self._servers))

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return ports without a server."""
        with self._faults.call("cloud.leftovers", writes=False):
            return tuple(self._leftovers.values())

    def remove(self, leftover: Leftover) -> None:
        """Remove a leftover."""
        with self._faults.call("cloud.remove"):
            self._leftovers.pop(leftover.leftover_id, None)

    def truth(self) -> Mapping[str, Server]:
        """Return all servers as they really are, for a test to look at."""
        return self._servers

    def remains(self) -> Mapping[str, Leftover]:
        """Return all leftovers as they really are."""
        return self._leftovers

    def stop(self, server_id: str, raw_status: str = "SHUTOFF") -> None:
        """Stop a server from inside or above: it runs nothing, and costs on."""
        status = ServerStatus.ERROR if raw_status == "ERROR" else ServerStatus.STOPPED
        self._stop(server_id, status, raw_status)

    def vanish(self, server_id: str) -> None:
        """Take a server away altogether."""
        self._stop(server_id, ServerStatus.DELETING, "DELETED")
        server = self._servers.pop(server_id, None)
        if server is None:
            return
        self.bills[server_id].until = self.clock.true
        if self._random.random() < self.traits.leftover_share:
            port = Leftover(LeftoverKind.PORT, f"port-{server_id}", server.marks.get("vm", ""))
            self._leftovers[port.leftover_id] = port

    def eur(self, prices: Mapping[str, float]) -> float:
        """Return what all servers cost up to now, by EUR per hour of each flavor."""
        now = self.clock.true
        return sum(
            prices[bill.flavor] * ((now if bill.until is None else bill.until) - bill.since) / 3600
            for bill in self.bills.values()
        )

    def _admit(self, spec: ServerSpec) -> None:
        limits = self.traits
        if limits.flavors and spec.flavor not in limits.flavors:
            raise PortError(Failure(FailureKind.CONFIG, f"404 flavor {spec.flavor!r} could not be found"))
        if limits.instances is not None and len(self._servers) >= limits.instances:
            text = f"403 Quota exceeded for instances: Requested 1, but already used {len(self._servers)}"
            raise PortError(Failure(FailureKind.QUOTA, text, resource="instances"))
        if limits.sync_capacity and not self._room(spec.flavor):
            raise PortError(Failure(FailureKind.CAPACITY, NO_HOST))

    def _room(self, flavor: str) -> bool:
        hosts = self.traits.flavors.get(flavor)
        placed = (ServerStatus.ACTIVE, ServerStatus.STOPPED, ServerStatus.DELETING)
        used = sum(s.flavor == flavor and s.status in placed for s in self._servers.values())
        return hosts is None or used < hosts

    def _new(self, spec: ServerSpec) -> Server:
        server_id = f"server-{len(self.bills) + 1}"
        server = Server(
            server_id,
            spec.name,
            ServerStatus.BUILDING,
            "BUILD",
            self.clock.true,
            {**spec.marks, "vm": spec.marks.get("vm", spec.name)},
            flavor=spec.flavor,
            zone=spec.zone,
        )
        self._servers[server_id] = server
        self.user_data[server_id] = spec.user_data
        self.bills[server_id] = Bill(spec.name, spec.flavor, self.clock.true)
        return server

    def _built(self, server_id: str) -> None:
        server = self._servers.get(server_id)
        if server is None or server.status is not ServerStatus.BUILDING:
            return
        if not self._room(server.flavor):
            self._fail(server, Failure(FailureKind.CAPACITY, NO_HOST))
        elif self._random.random() < self.traits.error_share:
            text = "Build of instance aborted: Volume did not finish being created"
            self._fail(server, Failure(FailureKind.TRANSIENT, text))
        else:
            host = f"host-{self._random.randrange(8)}"
            active = replace(server, status=ServerStatus.ACTIVE, raw_status="ACTIVE", host=host)
            self._servers[server_id] = active
            self.on_active(active)

    def _fail(self, server: Server, failure: Failure) -> None:
        error = replace(
            server,
            status=ServerStatus.ERROR,
            raw_status="ERROR",
            fault=failure.text,
            fault_code=500,
            failure=failure,
        )
        self._servers[server.server_id] = error

    def _stop(self, server_id: str, status: ServerStatus, raw_status: str) -> None:
        server = self._servers.get(server_id)
        if server is None or server.status is ServerStatus.DELETING:
            return
        self._servers[server_id] = replace(server, status=status, raw_status=raw_status)
        if server.status is ServerStatus.ACTIVE:
            self.on_down(server)
