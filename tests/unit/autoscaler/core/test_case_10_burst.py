"""Case 10 of the autoscaler's input cases: a burst far above the ceiling, with a restart in the middle."""

from dataclasses import replace
from random import Random

from unit.autoscaler.core.samples import P1, P2
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core import intents as to
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import JobKey, JobStatus
from shadow_autoscaler.core.machines import Phase, ServerStatus
from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.state import PoolState

JOBS = 256


def burst(world: World) -> list[JobKey]:
    keys = [world.job(name=f"m{number}").key for number in range(JOBS)]
    arrivals = [*keys, *keys[:: JOBS // 13]]
    Random(10).shuffle(arrivals)
    for key in arrivals:
        world.tell(key)
        assert len(world.machines) <= P1.max
    return keys


def step(world: World, throttled: list[float]) -> None:
    """A minute passes: VMs come up, jobs end after two minutes, and the forge gives idle runners jobs."""
    world.now += 60
    for key, facts in list(world.jobs.items()):
        if facts.status is JobStatus.RUNNING and world.now - (facts.started_at or 0) >= 120:
            world.finish(key)
            world.tell(key)
    carry(world, throttled)
    for machine in list(world.machines.values()):
        if machine.server.status is ServerStatus.BUILDING:
            world.set_server(machine, ServerStatus.ACTIVE)
    world.list_servers()
    for machine in list(world.machines.values()):
        name = machine.server.name
        if not machine.runner and not machine.ended:
            world.handle(ev.ConfigAsked(name))
            carry(world, throttled)
            world.take(name)
    queued = [key for key, facts in world.jobs.items() if facts.status is JobStatus.QUEUED]
    for key in queued:
        idle = world.idle_runners(world.jobs[key])
        if not idle:
            break
        world.start(key, idle[-1])
        world.tell(key)
    world.handle(ev.Tick())


def carry(world: World, throttled: list[float]) -> None:
    while world.pending:
        index, failure = 0, None
        if isinstance(world.pending[0], to.Register) and len(world.of(to.Register)) == 20 and not throttled:
            failure = Failure(FailureKind.THROTTLED, "secondary rate limit", 60.0)
            throttled.append(world.now)
        world.carry(index, failure)
        assert len(world.machines) <= P1.max


def test_case_10_every_job_is_served_within_a_quota_below_the_ceiling() -> None:
    cores = 8
    world = World(deployment=Deployment("acme-ci", (P1,)))
    world.handle(ev.QuotaRead(Quota(world.now, cores=cores)))
    keys = burst(world)
    throttled: list[float] = []
    for minute in range(1200):
        if all(world.jobs[key].status is JobStatus.DONE for key in keys):
            break
        used = 4 * len(world.machines)
        world.handle(ev.QuotaRead(Quota(world.now + 1, cores=cores - used)))
        assert used <= cores
        if minute == 40:
            world.restart()
        step(world, throttled)
    for _ in range(5):
        step(world, throttled)
    assert all(world.jobs[key].status is JobStatus.DONE for key in keys)
    assert throttled
    assert len(world.of(to.CreateServer)) <= JOBS + P1.max
    assert not world.machines
    assert not world.runners
    assert not world.killed


def test_case_10_no_configuration_is_minted_before_its_vm_asks() -> None:
    world = World(deployment=Deployment("acme-ci", (P1,)))
    burst(world)
    world.run()
    assert not world.of(to.Register)
    assert all(vm.phase is Phase.BUILDING for vm in world.state.vms.values())


def test_case_10_repositories_take_turns() -> None:
    world = World(deployment=Deployment("acme-ci", (replace(P1, max=4), P2), max_vms=4))
    world.state.pools["p1"] = PoolState("p1", drained=True)
    for number in range(20):
        world.queued(project="acme/loud", name=f"m{number}")
    world.now += 60
    world.queued(project="acme/quiet")
    world.queued(project="acme/quiet", name="second")
    world.handle(ev.Drained("p1", on=False))
    served = sorted(vm.job.project for vm in world.state.vms.values() if vm.job)
    assert served == ["acme/loud", "acme/loud", "acme/quiet", "acme/quiet"]


def test_case_10_one_maximum_over_all_pools_counts_what_is_built_and_deleted() -> None:
    world = World(deployment=Deployment("acme-ci", (P1, P2), max_vms=3))
    keys = [world.queued(name=f"a{number}") for number in range(2)]
    keys += [world.queued(("a4500",), name=f"b{number}") for number in range(2)]
    world.run()
    assert len(world.machines) == 3
    first = world.serve(keys[0])
    world.finish(keys[0])
    world.tell(keys[0])
    world.carry(0)
    assert world.state.vms[first.name].phase is Phase.DELETING
    assert sum(vm.live for vm in world.state.vms.values()) == 3
    world.run()
    assert all(world.state.jobs[key].vm for key in keys)


def test_case_10_what_the_quota_leaves_limits_a_burst_before_the_cloud_says_no() -> None:
    world = World()
    world.handle(ev.QuotaRead(Quota(world.now, instances=10, cores=9)))
    for number in range(3):
        world.queued(name=f"m{number}")
    world.run()
    assert len(world.machines) == 2
