"""A whole service over the fakes, on virtual time, without threads."""

import json
from dataclasses import dataclass, field

import pytest

from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.events import Event
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.machines import Market, Server
from shadow_autoscaler.core.pools import Deployment, Pool, Rung
from shadow_autoscaler.edge.callbacks import Callbacks, Caller, Reply
from shadow_autoscaler.ports import Delivery, Store
from shadow_autoscaler.runtime import tickets
from shadow_autoscaler.runtime.engine import Engine
from shadow_autoscaler.runtime.service import Service, World
from shadow_autoscaler.runtime.turns import Turns
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import CloudTraits, FakeCloud
from shadow_autoscaler.testing.faults import FaultPlan
from shadow_autoscaler.testing.github import FakeGitHub
from shadow_autoscaler.testing.secrets import FakeSecrets
from shadow_autoscaler.testing.store import FakeStore, StoredData

POOL = Pool(
    name="rtx2000",
    forge=ForgeKind.GITHUB,
    labels=("self-hosted", "shadow-gpu"),
    ladder=(
        Rung("edge-preemptible-c4m16-gpu-2000-1", Market.SPOT, 0.29, 4, 16_384),
        Rung("edge-c4m16-gpu-2000-1", Market.ON_DEMAND, 0.45, 4, 16_384),
    ),
    max=3,
)
KEY = "k" * 32


class Killed(BaseException):
    """The process is gone; nothing may catch this and go on."""


@dataclass
class Rig:
    """Everything that a test touches."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    faults: FaultPlan = field(default_factory=FaultPlan)
    data: StoredData = field(default_factory=StoredData)
    events: dict[str, Event] = field(default_factory=dict)
    """What each webhook said, by delivery ID."""
    secrets: FakeSecrets = field(default_factory=lambda: FakeSecrets({"callback-key": KEY}))

    def __post_init__(self) -> None:
        self.cloud = FakeCloud(self.clock, self.faults, CloudTraits(build_s=(20, 20), delete_s=(3, 3)))
        self.github = FakeGitHub(self.clock, self.faults)
        self.github.deliver = self._deliver
        self.cloud.on_active = self._boot
        self.guests = True
        """Whether VMs boot, register and run jobs by themselves."""
        self.replies: list[Reply] = []
        self.up = True
        """Whether the process can be reached."""
        self.open()

    def open(self, store: Store | None = None) -> None:
        """Begin a new process on the same data; the former one is gone without a word."""
        self.store = store or FakeStore(self.data, self.faults)
        engine = Engine(
            self.store, Deployment("acme", (POOL,)), decide, self.clock.now, steady=self.clock.steady
        )
        world = World(
            self.cloud,
            {ForgeKind.GITHUB: self.github},
            {ForgeKind.GITHUB: self._translate},
            lambda vm: tickets.render(
                "@SHADOW_VM@ @SHADOW_TICKET@", vm=vm.name, key=KEY, callback_url="http://c"
            ),
        )
        self.service = Service(engine, world, f"process-{id(engine)}")
        self.turns = Turns(self.service)
        self.callbacks = Callbacks(engine, self.service.handover, self.secrets, "callback-key")
        self.data.owner = ""

    def settle(self, seconds: float = 0.0, step: float = 5.0) -> None:
        """Let time pass in steps, with everything due done at each of them."""
        passed = 0.0
        while True:
            self.service.lease.step()
            self.turns.look()
            self.turns.work(float("inf"))
            if passed >= seconds:
                return
            self.clock.advance(min(step, seconds - passed))
            passed += step

    def queue(self, number: int = 5001, seconds: float = 60.0) -> JobKey:
        """Have a job wait at the forge, whose webhook comes in."""
        key = JobKey(ForgeKind.GITHUB, "acme/models", number)
        facts = JobFacts(key, JobStatus.QUEUED, "train", POOL.labels, 900, self.clock.now())
        return self.github.submit(facts, seconds)

    def call(self, vm: str, server_id: str) -> Reply | None:
        """Have a VM ask for its configuration; None while the answer is not there."""
        body = json.dumps({"server_id": server_id}).encode()
        reply = self.callbacks.config(self.caller(vm), body)
        if isinstance(reply, Reply):
            return reply
        self.turns.work(float("inf"))
        if not reply.done():
            return self.callbacks.give_up(vm, reply)
        return self.callbacks.answer(vm, reply.result())

    def caller(self, vm: str, key: str = KEY) -> Caller:
        """Return a VM with its ticket."""
        return Caller(vm, f"Bearer {tickets.ticket(key, vm)}", "10.0.0.5")

    def report(self, vm: str, name: str, **body: object) -> Reply | None:
        """Have a VM report."""
        delivery = self.callbacks.report(self.caller(vm), name, json.dumps(body).encode())
        if isinstance(delivery, Reply):
            return delivery
        self.store.accept([delivery])
        return None

    def live(self, seconds: float, step: float = 5.0, down: float = 0.0) -> None:
        """Let time pass as `settle` does; a process that is killed is started again after `down` seconds."""
        end = self.clock.true + seconds
        while self.clock.true < end:
            try:
                self.settle(step)
            except Killed:
                self.up = False
                self.clock.advance(down)
                end += down
                self.up = True
                self.open()

    def _deliver(self, event: Event) -> bool:
        name = f"event-{len(self.events)}"
        self.events[name] = event
        if not self.up:
            return False
        try:
            self.store.accept([Delivery(name, "github", "event", name.encode(), self.clock.now())])
        except Killed:
            self.open()
            return False
        return True

    def _translate(self, _name: str, body: bytes) -> tuple[Event, ...]:
        return (self.events[body.decode()],)

    def _boot(self, server: Server) -> None:
        if self.guests:
            self.clock.after(30, lambda: self._register(server))

    def _register(self, server: Server) -> None:
        if not self.up:
            self.clock.after(5, lambda: self._register(server))
            return
        try:
            self._boot_on(server)
        except Killed:
            self.open()
            self.clock.after(5, lambda: self._register(server))

    def _boot_on(self, server: Server) -> None:
        vm = server.marks["vm"]
        self.report(vm, "status", server_id=server.server_id, phase="healthy", status="ok")
        reply = self.call(vm, server.server_id)
        self.replies.append(reply or Reply(0))
        if reply and reply.status == 200 and reply.body:
            config = {key: str(value) for key, value in reply.body.items()}
            self.github.connect(config, config["runner_name"], lambda ran: self._ended(server, ran=ran))
        elif reply and reply.retry_after_s:
            self.clock.after(reply.retry_after_s, lambda: self._register(server))

    def _ended(self, server: Server, *, ran: bool) -> None:
        if not self.up:
            self.clock.after(5, lambda: self._ended(server, ran=ran))
            return
        status = "ok" if ran else "failed"
        body = {"server_id": server.server_id, "phase": "ended", "status": status, "at": self.clock.now()}
        try:
            self.report(server.marks["vm"], "status", **body)
        except Killed:
            self.open()
            self.clock.after(5, lambda: self._ended(server, ran=ran))


@pytest.fixture(name="rig")
def rig_fixture() -> Rig:
    return Rig()


@pytest.fixture(name="make_rig")
def make_rig_fixture() -> type[Rig]:
    return Rig


@pytest.fixture(name="killed")
def killed_fixture() -> type[BaseException]:
    return Killed
