"""Data and helpers of the store contract."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from shadow_autoscaler.core.intents import (
    Alarm,
    CheckJob,
    CheckServer,
    CreateServer,
    DeleteServer,
    Deregister,
    Intent,
    Register,
    RemoveLeftover,
    RemoveRunner,
    Rerun,
)
from shadow_autoscaler.core.jobs import ForgeKind, Job, JobFacts, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.leftovers import Leftover, LeftoverKind
from shadow_autoscaler.core.machines import Cause, Market, Phase, Vm
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import Counters, Decision, Note, PoolState, Suspect
from shadow_autoscaler.ports import Delivery, Store


@dataclass(slots=True)
class Stores:
    """One set of data, opened as often as asked."""

    opener: Callable[[], Store]
    opened: list[Store] = field(default_factory=list[Store])

    def open(self) -> Store:
        """Open the data as another process would."""
        self.opened.append(self.opener())
        return self.opened[-1]

    def leader(self, owner: str = "one", now: float = 0.0) -> Store:
        """Open it and take the lease."""
        store = self.open()
        assert store.lease(owner, 60.0, now)
        return store


KEY = JobKey(ForgeKind.GITHUB, "acme/model", 5001)
FACTS = JobFacts(
    KEY,
    JobStatus.RUNNING,
    "train (größe 1)",
    ("self-hosted", "gpu"),
    900,
    1.25,
    started_at=2.5,
    runner_id=7,
    runner_name="gpu-t4-x1-1",
    ref="main",
    known_origin=False,
    installation_id=71,
)
JOB = Job(FACTS, 1.5, "t4", "gpu-t4-x1", 1, 1, on_demand_only=True, reclaim=Reclaim.WAITS_FOR_RUN)
VM = Vm(
    "gpu-t4-x1",
    "t4",
    0,
    "edge-c4m16-gpu-2000-1",
    Market.SPOT,
    Phase.BUSY,
    1.0,
    job=KEY,
    addresses=("10.0.0.4", "fe80::1"),
    reclaim_at=99.0,
    cause=Cause.RECLAIMED,
    eur_per_hour=0.29,
)
POOL = PoolState("t4", {"edge": 300.0, "edge@zone-a": float("inf")}, broken="no image", failures=2)
QUOTA = Quota(5.0, instances=3, cores=None)
INTENTS: tuple[Intent, ...] = (
    CreateServer("gpu-t4-x1", again=True),
    Register("gpu-t4-x1", "gpu-t4-x1-1"),
    Deregister("gpu-t4-x1", "gpu-t4-x1-1", None),
    RemoveRunner(ForgeKind.GITLAB, 4, "gpu-t4-x0-1", "s_1"),
    DeleteServer("gpu-t4-x1", "id-1", keep_console=True),
    CheckServer("gpu-t4-x1", "id-1"),
    CheckJob(KEY),
    Rerun(KEY, 900),
    RemoveLeftover(Leftover(LeftoverKind.VOLUME, "v-1", "gpu-t4-x0")),
    Alarm("t4", "pool t4: 404 image"),
)
EVERYTHING = Decision(
    jobs=(JOB, replace(JOB, facts=replace(FACTS, key=replace(KEY, job_id=5002)))),
    vms=(VM, replace(VM, name="gpu-t4-x2", job=None)),
    pools=(POOL,),
    suspects=(Suspect("server:1", 3.0), Suspect("server:2", 3.0)),
    alarms={"pool:t4": 4.0, "pool:a4500": 4.5},
    quota=QUOTA,
    counters=Counters(2, "abcde"),
    intents=INTENTS,
    notes=(Note(str(KEY), "waits"), Note("gpu-t4-x1", "asked for")),
)


def delivery(name: str = "D-1", body: bytes = b'{"a":"\xff"}') -> Delivery:
    """Return a delivery of that ID."""
    return Delivery(name, "github", "workflow_job", body, 10.5)
