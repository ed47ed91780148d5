"""Faults of the core that the virtual-time simulator found, each as its smallest sequence of events."""

from dataclasses import replace

import pytest

from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.events import (
    Event,
    JobSeen,
    Resumed,
    RunCompleted,
    Runner,
    RunnersListed,
    ServerGone,
    ServersListed,
    Tick,
)
from shadow_autoscaler.core.intents import DeleteServer, RemoveRunner, Rerun
from shadow_autoscaler.core.jobs import ForgeKind, Job, JobFacts, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Market, Phase, Server, ServerStatus, Vm
from shadow_autoscaler.core.pools import Deployment, Pool, Rung
from shadow_autoscaler.core.state import Counters, Decision, State

START = 1_800_000_000.0
KEY = JobKey(ForgeKind.GITHUB, "acme/model", 5030)
POOL = Pool("t4", ForgeKind.GITHUB, ("gpu",), (Rung("edge-preemptible", Market.SPOT, 0.3),), 3)
DEPLOYMENT = Deployment("acme", (POOL,))


def facts(status: JobStatus, finished_at: float | None = None, conclusion: str = "") -> JobFacts:
    return JobFacts(
        KEY,
        status,
        "train",
        ("gpu",),
        900,
        START,
        started_at=START + 60.0,
        finished_at=finished_at,
        conclusion=conclusion,
        runner_id=7,
        runner_name="gpu-t4-g00001-1",
    )


def busy() -> State:
    """Return a spot VM that runs a job, active since START."""
    vm = Vm(
        "gpu-t4-g00001",
        "t4",
        0,
        "edge-preemptible",
        Market.SPOT,
        Phase.BUSY,
        START,
        job=KEY,
        server_id="s-1",
        sent_at=START,
        created_at=START,
        active_at=START,
        healthy_at=START,
        ready_at=START,
        busy_at=START + 60.0,
        runner_id=7,
        runner_name="gpu-t4-g00001-1",
        registrations=1,
    )
    job = Job(facts(JobStatus.RUNNING), START, pool="t4", vm=vm.name, tries=1)
    return State(jobs={KEY: job}, vms={vm.name: vm}, counters=Counters(1, "g"))


def tell(state: State, now: float, event: Event) -> Decision:
    decision = decide(state, event, now, DEPLOYMENT)
    state.apply(decision)
    return decision


@pytest.mark.parametrize(("failed_after_s", "reclaim"), [(1000.0, Reclaim.NONE), (2400.0, Reclaim.RERUN)])
def test_a_job_that_failed_before_its_vm_could_be_taken_failed_by_itself(
    failed_after_s: float, reclaim: Reclaim
) -> None:
    # The process was down when the job failed, and looks again when the VM has been taken, an hour later.
    state = busy()
    done = facts(JobStatus.DONE, START + failed_after_s, "failure")
    tell(state, START + 4000.0, JobSeen(done))
    tell(state, START + 4001.0, ServerGone("gpu-t4-g00001"))
    assert state.jobs[KEY].reclaim is reclaim


def _reruns(state: State, now: float, *events: Event) -> list[Rerun]:
    decisions = [tell(state, now, event) for event in events]
    return [intent for decision in decisions for intent in decision.intents if isinstance(intent, Rerun)]


@pytest.mark.parametrize(
    ("conclusion", "failed_after_s", "again"),
    [("success", 2400.0, 0), ("failure", 1000.0, 0), ("failure", 2400.0, 1)],
)
def test_a_job_is_run_again_only_when_the_forge_has_said_how_it_ended(
    conclusion: str, failed_after_s: float, again: int
) -> None:
    # Both ended while the process was down: first seen is the server, then the run, last the job.
    state = busy()
    first = _reruns(state, START + 4000.0, ServerGone("gpu-t4-g00001"), RunCompleted(KEY, 900))
    assert state.jobs[KEY].reclaim is Reclaim.WAITS_FOR_RUN
    assert first == []
    done = facts(JobStatus.DONE, START + failed_after_s, conclusion)
    later = _reruns(state, START + 4001.0, JobSeen(done))
    for seconds in range(4010, 6000, 10):
        later += _reruns(state, START + seconds, Tick())
    assert len(later) == again


def _orphan() -> Server:
    marks = {"vm": "gpu-t4-old00001", "pool": "t4"}
    return Server("s-9", "gpu-t4-old00001", ServerStatus.ACTIVE, "ACTIVE", START, marks)


def _deleted(state: State, seconds: float, event: Event) -> bool:
    decision = tell(state, START + seconds, event)
    return any(isinstance(intent, DeleteServer) for intent in decision.intents)


def test_a_server_of_a_lost_store_stays_until_its_forge_has_told_which_runners_are_busy() -> None:
    state = State(counters=Counters(0, "new"))
    listed = ServersListed((_orphan(),), complete=True, asked_at=START)
    assert not any(_deleted(state, seconds, listed) for seconds in range(0, 410, 100))
    tell(state, START + 410.0, RunnersListed("github", (), complete=True))
    assert _deleted(state, 420.0, listed)


def test_a_server_of_a_lost_store_on_which_a_job_runs_is_kept_and_then_deregistered_first() -> None:
    state = State(counters=Counters(0, "new"))
    listed = ServersListed((_orphan(),), complete=True, asked_at=START)
    busy_runner = Runner(9, "gpu-t4-old00001-1", online=True, busy=True)
    for seconds in range(0, 7200, 60):
        assert not _deleted(state, seconds, listed)
        tell(state, START + seconds, RunnersListed("github", (busy_runner,), complete=True))
    idle, removed = replace(busy_runner, busy=False), False
    for seconds in range(7200, 7500, 60):
        assert not _deleted(state, seconds, listed)
        decision = tell(state, START + seconds, RunnersListed("github", (idle,), complete=True))
        removed = removed or any(isinstance(intent, RemoveRunner) for intent in decision.intents)
    assert removed
    later = range(7500, 10_000, 60)
    assert any(_deleted(state, seconds, listed) for seconds in later)


@pytest.mark.parametrize("phase", [Phase.BOOTING, Phase.REGISTERING, Phase.READY])
def test_a_vm_is_not_late_because_nobody_listened(phase: Phase) -> None:
    state = busy()
    (vm,) = state.vms.values()
    job = replace(state.jobs[KEY], facts=replace(facts(JobStatus.QUEUED), started_at=None, runner_name=""))
    state.apply(Decision(vms=(replace(vm, phase=phase, busy_at=None),), jobs=(job,)))
    back = START + 3600.0
    tell(state, back, Resumed())
    tell(state, back + 170.0, Tick())
    assert state.vms[vm.name].phase is phase
    for seconds in range(300, 1100, 100):
        tell(state, back + seconds, Tick())
    assert state.vms[vm.name].phase >= Phase.CLOSING
