"""A state with many VMs and jobs, as a large deployment has at noon."""

from shadow_autoscaler.core.jobs import ForgeKind, Job, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.machines import Market, Phase, Server, ServerStatus, Vm
from shadow_autoscaler.core.pools import Deployment, Pool, Rung
from shadow_autoscaler.core.state import Counters, Decision

NOW = 1_800_000_000.0
POOLS = 10


def deployment(vms: int) -> Deployment:
    """Return ten pools with room for the VMs that are there and no more."""
    return Deployment("bench", tuple(_pool(number, vms // POOLS) for number in range(POOLS)), max_vms=vms)


def _pool(number: int, size: int) -> Pool:
    ladder = (
        Rung(f"edge-preemptible-c4m16-gpu-2000-{number}", Market.SPOT, 0.29, 4, 16_384),
        Rung(f"edge-c4m16-gpu-2000-{number}", Market.ON_DEMAND, 0.4833, 4, 16_384),
    )
    return Pool(f"pool{number}", ForgeKind.GITHUB, ("self-hosted", "gpu", f"gpu{number}"), ladder, size)


def filled(vms: int, jobs: int) -> Decision:
    """Return the rows: a running job on each VM, all other jobs waiting."""
    names = [f"gpu-pool{number % POOLS}-bench{number:05d}" for number in range(vms)]
    return Decision(
        jobs=tuple(_job(number, names[number] if number < vms else "") for number in range(jobs)),
        vms=tuple(_vm(number, name) for number, name in enumerate(names)),
        counters=Counters(vms, "bench"),
    )


def servers(decision: Decision) -> tuple[Server, ...]:
    """Return the servers of those VMs, as the cloud lists them."""
    return tuple(
        Server(
            vm.server_id,
            vm.name,
            ServerStatus.ACTIVE,
            "ACTIVE",
            vm.planned_at,
            {"vm": vm.name, "pool": vm.pool, "job": str(vm.job)},
            flavor=vm.flavor,
        )
        for vm in decision.vms
    )


def _key(number: int) -> JobKey:
    return JobKey(ForgeKind.GITHUB, f"acme/project{number % 50}", 100_000 + number)


def _job(number: int, vm: str) -> Job:
    queued_at = NOW - 3600.0 + number * 0.5
    facts = JobFacts(
        _key(number),
        JobStatus.RUNNING if vm else JobStatus.QUEUED,
        f"train ({number % 8})",
        ("self-hosted", "gpu", f"gpu{number % POOLS}"),
        number // 8,
        queued_at,
        started_at=queued_at + 120.0 if vm else None,
        runner_id=number if vm else None,
        runner_name=f"{vm}-1" if vm else "",
        ref="main",
        url=f"https://github.example/acme/project{number % 50}/actions/runs/{number // 8}/job/{number}",
    )
    return Job(facts, queued_at, f"pool{number % POOLS}", vm, tries=int(bool(vm)), checked_at=NOW - 60.0)


def _vm(number: int, name: str) -> Vm:
    at = NOW - 3600.0 + number * 0.5
    return Vm(
        name,
        f"pool{number % POOLS}",
        0,
        f"edge-preemptible-c4m16-gpu-2000-{number % POOLS}",
        Market.SPOT,
        Phase.BUSY,
        at,
        job=_key(number),
        server_id=f"00000000-0000-4000-8000-{number:012d}",
        addresses=(f"10.0.{number // 250}.{number % 250}",),
        sent_at=at,
        created_at=at,
        active_at=at + 40.0,
        healthy_at=at + 100.0,
        ready_at=at + 102.0,
        busy_at=at + 120.0,
        runner_id=number,
        runner_name=f"{name}-1",
        registrations=1,
        eur_per_hour=0.29,
    )
