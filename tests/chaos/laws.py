"""What must hold whatever happens; each breach is one sentence that names its job, VM or pool."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shadow_autoscaler.core.jobs import JobFacts, JobStatus

if TYPE_CHECKING:
    from chaos.simulation import Simulation

MONEY = 2.5
"""Times what the jobs' own minutes and a boot for each would have cost on-demand."""
BOOT_S = 180.0


def always(sim: "Simulation") -> Iterator[str]:
    """Yield breaches of what must hold at every moment."""
    servers = sim.cloud.truth()
    if sim.store_lost:
        return  # servers of the time before stay beside new ones until their jobs have ended
    if len(servers) > sim.deployment.max_vms:
        yield f"{len(servers)} servers, over max_vms {sim.deployment.max_vms}"
    by_pool = Counter(server.marks.get("pool") for server in servers.values())
    for pool in sim.deployment.pools:
        if by_pool[pool.name] > pool.max:
            yield f"pool {pool.name}: {by_pool[pool.name]} servers, over max {pool.max}"
    by_vm = Counter(server.marks.get("vm") for server in servers.values())
    for vm, count in by_vm.items():
        if count > 1:
            yield f"VM {vm} has {count} servers"


def settled(sim: "Simulation") -> Iterator[str]:
    """Yield breaches of what must come to hold when no more jobs and no more trouble come."""
    yield from _nothing_lost(sim)
    yield from _nothing_leaked(sim)


def finally_(sim: "Simulation") -> Iterator[str]:
    """Yield breaches of what must hold at the end."""
    yield from settled(sim)
    yield from _nothing_twice(sim)
    yield from _money(sim)


def _nothing_lost(sim: "Simulation") -> Iterator[str]:
    for work, keys in sim.attempts():
        last = sim.facts(keys[-1])
        if last.status is not JobStatus.DONE:
            yield f"job {last.key} ({work.name}) is not done: {last.status.name}"
        elif last.conclusion != "success" and not sim.explained(work, last):
            yield f"job {last.key} ({work.name}) ended as {last.conclusion} {last.failure_reason}: lost"


def _nothing_twice(sim: "Simulation") -> Iterator[str]:
    reruns: Counter[tuple[str, str, int]] = Counter()
    for forge in sim.forges.values():
        for key, starts in forge.starts.items():
            if starts > 1:
                yield f"job {key} was started {starts} times"
        for _, key, run_id in forge.reruns:
            reruns[forge.kind, key.project, run_id] += 1
    for (kind, project, run_id), count in reruns.items():
        hurt = sum(sim.looks_lost(facts) for facts in sim.run_jobs(kind, project, run_id))
        if count > hurt:
            yield f"{kind} {project} run {run_id}: {count} re-runs after {hurt} jobs lost to the cloud"
    yield from sim.killings


def _nothing_leaked(sim: "Simulation") -> Iterator[str]:
    for server in sim.cloud.truth().values():
        yield f"server {server.server_id} of VM {server.marks.get('vm')} is left: {server.raw_status}"
    for leftover in sim.cloud.remains().values():
        yield f"{leftover.kind} {leftover.leftover_id} is left"
    for forge in sim.forges.values():
        for name in forge.registrations():
            yield f"{forge.kind} registration {name} is left"
    state = sim.data.state
    for vm in state.vms.values():
        if vm.live:
            yield f"VM {vm.name} is held as {vm.phase.name} ({vm.cause or 'no cause'})"
    for row in sim.data.outbox.values():
        yield f"intent {row.intent} is still in the outbox after {row.attempts} tries"
    for delivery_id in sim.data.inbox:
        yield f"delivery {delivery_id} is still in the inbox"


def _money(sim: "Simulation") -> Iterator[str]:
    spent, ideal = sim.cloud.eur(sim.prices), sim.ideal_eur()
    if spent > MONEY * ideal + 1.0:
        yield f"EUR {spent:.2f} spent where EUR {ideal:.2f} would have done on-demand"


def ran_seconds(facts: JobFacts) -> float:
    """Return how long a job held a runner."""
    if facts.started_at is None or facts.finished_at is None:
        return 0.0
    return facts.finished_at - facts.started_at
