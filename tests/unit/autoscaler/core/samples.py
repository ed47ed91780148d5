"""The set-up of the autoscaler's input cases: two GitHub pools, one of GitLab, spot before on-demand."""

from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Market
from shadow_autoscaler.core.pools import Deployment, Pool, Rung
from shadow_autoscaler.core.state import State

START = 1_800_000_000.0
LABELS = ("self-hosted", "linux", "x64", "shadow-gpu")
SPOT = Rung("edge-preemptible-c4m16-gpu-2000-1", Market.SPOT, 0.29, 4, 16_384)
ON_DEMAND = Rung("edge-c4m16-gpu-2000-1", Market.ON_DEMAND, 0.5, 4, 16_384)
P1 = Pool("p1", ForgeKind.GITHUB, (*LABELS, "rtx2000"), (SPOT, ON_DEMAND), 3)
P2 = Pool("p2", ForgeKind.GITHUB, (*LABELS, "a4500"), (SPOT, ON_DEMAND), 2)
GITLAB = Pool("gl", ForgeKind.GITLAB, ("shadow-gpu",), (SPOT, ON_DEMAND), 2)
DEPLOYMENT = Deployment("acme-ci", (P1, P2, GITLAB), max_vms=5)
CAPACITY = Failure(FailureKind.CAPACITY, "No valid host was found.")
FAILED = "failure"


def reloaded(state: State) -> State:
    """Return the state as a store gives it back: rows without indexes."""
    return State(
        dict(state.jobs),
        dict(state.vms),
        dict(state.pools),
        dict(state.suspects),
        dict(state.alarms),
        state.quota,
        state.counters,
    )
