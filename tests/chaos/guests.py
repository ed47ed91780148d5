"""VMs from the inside: they boot, prove their GPU, fetch their configuration, run a job, and may be taken."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.process import SECRET, Process
from chaos.scenario import Plan, Trouble
from shadow_autoscaler.core.machines import Server
from shadow_autoscaler.edge.callbacks import WAIT_S, Caller, Reply
from shadow_autoscaler.runtime import tickets
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import FakeCloud
from shadow_autoscaler.testing.forge import FakeForge

if TYPE_CHECKING:
    from concurrent.futures import Future

    from shadow_autoscaler.ports import Registration

PHASES = ("packages", "docker", "gpu_host", "gpu_container", "metadata")
MIN_UPTIME_S, NOTICE_S = 1800.0, 900.0


@dataclass(slots=True)
class Guest:
    """One running VM."""

    server: Server
    vm: str
    active_at: float
    alive: bool = True
    runner_name: str = ""
    announced: bool = False
    """Whether the cloud has said that it takes the VM, which it then does."""

    @property
    def caller(self) -> Caller:
        """Return how it names itself to the controller."""
        return Caller(self.vm, f"Bearer {tickets.ticket(SECRET, self.vm)}")


class Guests:
    """Every running VM."""

    def __init__(
        self,
        scenario: Plan,
        clock: VirtualClock,
        cloud: FakeCloud,
        process: Callable[[], Process | None],
        forge_of: Callable[[str], FakeForge],
        killed: Callable[[Guest, str], None],
    ) -> None:
        self.calm = False
        """True ends all drawn misfortune."""
        self.reclaim_s = 2400.0
        """Mean time to a reclaim once the guaranteed uptime has passed."""
        self._scenario, self._clock, self._cloud = scenario, clock, cloud
        self._process, self._forge_of, self._killed = process, forge_of, killed
        self._random = random.Random(f"{scenario.seed}:guests")
        self._guests: dict[str, Guest] = {}
        self._taking: str | None = None
        cloud.on_active, cloud.on_down = self._booted, self._down

    def _unlucky(self, trouble: Trouble, share: float) -> bool:
        return not self.calm and self._scenario.has(trouble) and self._random.random() < share

    def _booted(self, server: Server) -> None:
        guest = self._guests[server.server_id] = Guest(server, server.marks["vm"], self._clock.true)
        self._plan_end(guest)
        if self._unlucky(Trouble.BOOT_FAILS, 0.01):
            return  # not a word is ever heard of it
        fails = self._random.choice(PHASES) if self._unlucky(Trouble.BOOT_FAILS, 0.02) else ""
        at = 0.0
        for phase in PHASES:
            at += self._random.uniform(2.0, 30.0)
            self._later(guest, at, lambda phase=phase: self._report_phase(guest, phase, fails))  # type: ignore[misc]
            if phase == fails:
                return
        self._later(guest, at + 1.0, lambda: self._healthy(guest))

    def _plan_end(self, guest: Guest) -> None:
        if "preemptible" in guest.server.flavor:
            at = MIN_UPTIME_S + self._random.expovariate(1 / self.reclaim_s)
            if self._unlucky(Trouble.SILENT_RECLAIMS, 0.2):
                self._later(guest, at, lambda: self._take(guest))
            elif self._unlucky(Trouble.RECLAIMS, 0.8):
                self._later(guest, at - NOTICE_S, lambda: self._notice(guest))
                self._later(guest, at, lambda: self._take(guest))
        elif self._unlucky(Trouble.VANISH, 0.01):
            self._later(guest, self._random.uniform(1.0, 3600.0), lambda: self._take(guest))

    def _take(self, guest: Guest) -> None:
        if self.calm and not guest.announced:
            return
        self._taking = guest.server.server_id
        ending = self._random.choice(("SHUTOFF", "ERROR", "EXPIRED", ""))
        if ending:
            self._cloud.stop(guest.server.server_id, ending)
        else:
            self._cloud.vanish(guest.server.server_id)
        self._taking = None

    def _notice(self, guest: Guest) -> None:
        if self.calm:
            return
        guest.announced = True
        self._report(guest, "reclaim", {"at": self._clock.true + NOTICE_S})

    def _report_phase(self, guest: Guest, phase: str, fails: str) -> None:
        status = "failed" if phase == fails else "ok"
        self._report(guest, "status", {"phase": phase, "status": status, "reason": "ERR!" * (phase == fails)})

    def _healthy(self, guest: Guest) -> None:
        self._report(guest, "status", {"phase": "healthy", "status": "ok"})
        self._ask(guest)

    def _report(self, guest: Guest, name: str, content: dict[str, object], tries: int = 6) -> None:
        body = json.dumps({"server_id": guest.server.server_id, "at": self._clock.true, **content}).encode()
        self._send(guest, name, body, tries)

    def _send(self, guest: Guest, name: str, body: bytes, tries: int) -> None:
        process, taken = self._process(), False
        if process is not None and not self._unlucky(Trouble.REPORTS_LOST, 0.05):
            taken = process.report(guest.caller, name, body)
        if tries > 1 and (not taken or self._unlucky(Trouble.REPORTS_LOST, 0.02)):
            self._later(guest, 10.0, lambda: self._send(guest, name, body, tries - 1))

    def _ask(self, guest: Guest) -> None:
        """Ask for the configuration; the answer comes within the time that the request is held."""
        process = self._process()
        if process is None or self._unlucky(Trouble.REPORTS_LOST, 0.05):
            self._later(guest, 10.0, lambda: self._ask(guest))
            return
        held = process.config(guest.caller, json.dumps({"server_id": guest.server.server_id}).encode())
        self._later(guest, WAIT_S, lambda: self._answer(guest, process, held))

    def _answer(
        self, guest: Guest, process: Process, held: "Reply | Future[Registration | None] | None"
    ) -> None:
        reply = process.answer(guest.vm, held)
        if reply is None or reply.status in {202, 503} or self._unlucky(Trouble.REPORTS_LOST, 0.03):
            self._later(guest, 10.0, lambda: self._ask(guest))
        elif reply.status == 200 and reply.body is not None:
            config = {name: str(value) for name, value in reply.body.items()}
            guest.runner_name = config["runner_name"]
            forge = self._forge_of(config["kind"])
            self._later(
                guest,
                5.0,
                lambda: forge.connect(config, guest.runner_name, lambda ran: self._ended(guest, ran)),
            )

    def _ended(self, guest: Guest, ran: bool) -> None:
        if guest.alive:
            status = "ok" if ran else "failed"
            self._later(
                guest, 1.0, lambda: self._report(guest, "status", {"phase": "ended", "status": status})
            )

    def _down(self, server: Server) -> None:
        guest = self._guests.pop(server.server_id)
        guest.alive = False
        by = "cloud" if self._taking == server.server_id else "us"
        self._killed(guest, by)
        if guest.runner_name:
            for kind in ("github", "gitlab"):
                self._forge_of(kind).disconnect(guest.runner_name)

    def _later(self, guest: Guest, seconds: float, action: Callable[[], None]) -> None:
        self._clock.after(seconds, lambda: action() if guest.alive else None)
