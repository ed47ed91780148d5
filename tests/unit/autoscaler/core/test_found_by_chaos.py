"""Faults of the core that the virtual-time simulator found, each as its smallest sequence of events."""

import pytest

from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.events import Event, JobSeen, RunCompleted, ServerGone, Tick
from shadow_autoscaler.core.intents import Rerun
from shadow_autoscaler.core.jobs import ForgeKind, Job, JobFacts, JobKey, JobStatus, Reclaim
from shadow_autoscaler.core.machines import Market, Phase, Vm
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


@pytest.mark.parametrize(
    ("failed_after_s", "reclaim"), [(1000.0, Reclaim.NONE), (2400.0, Reclaim.WAITS_FOR_RUN)]
)
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
