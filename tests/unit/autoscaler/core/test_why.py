"""Every cause for which a job waits, in one paragraph each."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from unit.autoscaler.core.samples import CAPACITY, DEPLOYMENT, P1
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core.faults import Failure, FailureKind
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus
from shadow_autoscaler.core.machines import ServerStatus
from shadow_autoscaler.core.pools import Deployment, Policy
from shadow_autoscaler.core.quota import Quota
from shadow_autoscaler.core.why import why


def no_pool(world: World) -> JobKey:
    return world.queued(("self-hosted", "h100"))


def fork(world: World) -> JobKey:
    return world.queued(fork=True)


def repository(world: World) -> JobKey:
    world.deployment = Deployment("d", (replace(P1, policy=Policy(repositories=("acme/lib",))),))
    return world.queued()


def held(world: World) -> JobKey:
    facts = replace(world.job(), status=JobStatus.WAITING)
    world.handle(ev.JobSeen(facts))
    return facts.key


def tags_unknown(world: World) -> JobKey:
    return world.queued(("shadow-gpu",), forge=ForgeKind.GITLAB)


def pool_maximum(world: World) -> JobKey:
    keys = [world.queued(name=f"m{number}") for number in range(5)]
    return keys[-1]


def total_maximum(world: World) -> JobKey:
    world.deployment = replace(DEPLOYMENT, max_vms=1)
    world.queued(("a4500",))
    return world.queued()


def quota_room(world: World) -> JobKey:
    world.handle(ev.QuotaRead(Quota(world.now, cores=3)))
    return world.queued()


def quota_said_no(world: World) -> JobKey:
    key = world.queued()
    world.carry(0, Failure(FailureKind.QUOTA, "Quota exceeded for instances", None, "instances"))
    return key


def cool_down(world: World) -> JobKey:
    key = world.queued()
    world.carry(0, CAPACITY)
    world.carry(0, CAPACITY)
    return key


def broken(world: World) -> JobKey:
    key = world.queued()
    world.carry(0, Failure(FailureKind.CONFIG, "Image 1234 could not be found."))
    return key


def failed_boots(world: World) -> JobKey:
    key = world.queued()
    for _ in range(3):
        world.run()
        world.handle(ev.VmReported(world.vm_for(key).name, "gpu_host", "failed", "ERR!"))
    return key


def own_failures(world: World) -> JobKey:
    key = failed_boots(world)
    world.state.apply(_pools(world))
    return key


def _pools(world: World) -> object:
    from shadow_autoscaler.core.state import Decision, PoolState  # noqa: PLC0415

    assert world.state.pools
    return Decision(pools=(PoolState("p1"),))


def trial(world: World) -> JobKey:
    keys = [world.queued(name=f"m{number}") for number in range(3)]
    world.run()
    for key in keys:
        world.handle(ev.VmReported(world.vm_for(key).name, "packages", "failed", "no route"))
    world.run()
    world.wait(P1.breaker_s + 1)
    return next(key for key in keys if not world.state.jobs[key].vm)


def drained(world: World) -> JobKey:
    world.handle(ev.Drained("p1"))
    return world.queued()


def planned(world: World) -> JobKey:
    return world.queued()


def retried(world: World) -> JobKey:
    key = world.queued()
    world.carry(0, Failure(FailureKind.TRANSIENT, "503 Service Unavailable"))
    return key


def building(world: World) -> JobKey:
    key = world.queued()
    world.run()
    world.now += 200
    return key


def booting(world: World) -> JobKey:
    key = building(world)
    vm = world.vm_for(key).name
    world.set_server(world.machine(vm), ServerStatus.ACTIVE)
    world.list_servers()
    world.handle(ev.VmReported(vm, "gpu_host", "wait", "exit 9"))
    return key


def registering(world: World) -> JobKey:
    key = booting(world)
    world.handle(ev.ConfigAsked(world.vm_for(key).name))
    world.carry(0, Failure(FailureKind.THROTTLED, "secondary rate limit", 60.0))
    return key


def no_access(world: World) -> JobKey:
    world.deployment = Deployment("d", (replace(P1, runner_group="gpu"),))
    key = booting(world)
    world.ask(world.vm_for(key).name)
    world.now += 100
    return key


def overdue(world: World) -> JobKey:
    job = world.job()
    world.now += 26 * 3600
    world.handle(ev.JobSeen(job))
    return job.key


def running(world: World) -> JobKey:
    key = world.queued()
    world.serve(key)
    return key


def elsewhere(world: World) -> JobKey:
    key = world.queued()
    taken = replace(world.jobs[key], status=JobStatus.RUNNING, runner_name="hosted-7")
    world.handle(ev.JobSeen(taken))
    return key


def announced(world: World) -> JobKey:
    key = running(world)
    world.handle(ev.ReclaimNoticed(world.vm_for(key).name, world.now + 900))
    return key


def unknown(_world: World) -> JobKey:
    return JobKey(ForgeKind.GITHUB, "acme/other", 7)


CAUSES: list[tuple[Callable[[World], JobKey], tuple[str, ...]]] = [
    (no_pool, ("no pool has all its labels", "lacks h100")),
    (fork, ("runs no code from forks", "policy.forks")),
    (repository, ("does not serve repository acme/app",)),
    (held, ("held back by github itself", "approval")),
    (tags_unknown, ("its labels are not known yet",)),
    (pool_maximum, ("maximum of 3 VMs", "1 more jobs wait", "raise its max")),
    (total_maximum, ("maximum of 1 VMs (max_vms)",)),
    (quota_room, ("quota has no cores left",)),
    (quota_said_no, ("paused until", "quota of instances", "Quota exceeded")),
    (cool_down, ("no capacity for edge-preemptible-c4m16-gpu-2000-1, edge-c4m16", "tried again at")),
    (broken, ("pool p1 is broken", "Image 1234", "correct its configuration")),
    (failed_boots, ("held until", "3 VMs in a row", "console log", "ERR!")),
    (own_failures, ("3 VMs for it have failed", "tried at")),
    (trial, ("tries a single VM",)),
    (drained, ("drained by an operator",)),
    (planned, ("create call", "about to be sent")),
    (retried, ("being retried", "503")),
    (building, ("being built by the cloud for 3 min",)),
    (booting, ("boots", "gpu_host wait: exit 9")),
    (registering, ("gets its configuration from github", "secondary rate limit")),
    (no_access, ("runner group gpu gives acme/app access",)),
    (overdue, ("the forge is asked whether it still does",)),
    (running, ("runs on VM gpu-p1-g00001",)),
    (elsewhere, ("on runner hosted-7, not one of ours",)),
    (announced, ("The cloud takes that VM at",)),
    (unknown, ("not known here", "deliveries of the webhook")),
]


@pytest.mark.parametrize(("make", "words"), CAUSES, ids=[make.__name__ for make, _ in CAUSES])
def test_why_names_the_cause_in_one_paragraph(
    make: Callable[[World], JobKey], words: tuple[str, ...]
) -> None:
    world = World()
    key = make(world)
    text = why(world.state, key, world.now, world.deployment)
    for word in words:
        assert word in text
    assert "\n" not in text
    assert text.endswith(".")
    assert ".." not in text


def test_why_tells_of_reclaims_and_their_end() -> None:
    world = World()
    key = running(world)
    world.now += 3600
    world.vanish(world.vm_for(key).name)
    world.list_servers()
    world.run()
    assert "run again when its run has completed" in why(world.state, key, world.now, world.deployment)
    world.finish(key, "failure")
    world.tell(key)
    world.handle(ev.RunCompleted(key, 900, 1))
    world.run()
    assert "run again as a new job, on-demand" in why(world.state, key, world.now, world.deployment)
    new = next(other for other in world.jobs if other.attempt == 2)
    world.handle(ev.Drained("p1"))
    world.tell(new)
    assert "goes on-demand because spot was taken" in why(world.state, new, world.now, world.deployment)
