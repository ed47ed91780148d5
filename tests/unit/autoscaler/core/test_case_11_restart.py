"""Case 11 of the autoscaler's input cases, at the core: a kill after any step, and a restart much later."""

import pytest
from unit.autoscaler.core.world import World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core.jobs import JobKey, JobStatus
from shadow_autoscaler.core.machines import ServerStatus

STEPS = 60


class KilledError(Exception):
    """The process ends here."""


class Fragile(World):
    """A world whose controller is killed after a number of decisions, before or after one is stored."""

    def __init__(self, steps: int, *, deaf: bool) -> None:
        super().__init__()
        self.steps, self.deaf, self.counted = steps, deaf, 0

    def handle(self, event: ev.Event) -> object:  # type: ignore[override]
        self.counted += 1
        if self.counted == self.steps and self.deaf:
            raise KilledError
        decision = super().handle(event)
        if self.counted == self.steps:
            raise KilledError
        return decision


def live_through(world: World, key: JobKey, seconds: float) -> None:
    """Do whatever is due until the job is done and nothing is left; a kill costs time, nothing else."""
    for _ in range(200):
        try:
            _round(world, key)
        except KilledError:
            world.restart()
            world.now += seconds
        if world.jobs[key].status is JobStatus.DONE and not world.machines and not world.leftovers:
            return
    raise AssertionError("it does not come to an end")


def _round(world: World, key: JobKey) -> None:
    world.now += 30
    if world.jobs[key].status is JobStatus.RUNNING:
        world.finish(key)
        world.tell(key)
    # Intents stay in the outbox until their answer is stored.
    while world.pending:
        intent = world.pending[0]
        try:
            world.carry()
        except KilledError:
            if intent not in world.pending:
                world.pending.insert(0, intent)
            raise
    for machine in list(world.machines.values()):
        if machine.server.status is ServerStatus.BUILDING:
            world.set_server(machine, ServerStatus.ACTIVE)
    world.look()
    _vms(world, key)
    world.handle(ev.Tick())


def _vms(world: World, key: JobKey) -> None:
    for machine in list(world.machines.values()):
        vm = machine.server.name
        if machine.ended:
            world.handle(ev.VmReported(vm, "ended", "ok"))
        elif not machine.runner:
            world.handle(ev.VmReported(vm, "healthy", "ok"))
            world.handle(ev.ConfigAsked(vm))
        if vm in world.state.vms and not machine.ended and machine.server.server_id in world.machines:
            world.take(vm)
    if world.jobs[key].status is JobStatus.QUEUED:
        for machine in world.idle_runners(world.jobs[key])[:1]:
            world.start(key, machine)
            world.tell(key)


@pytest.mark.parametrize("seconds", [0.0, 26 * 3600.0])
@pytest.mark.parametrize("deaf", [False, True])
def test_case_11_converges_after_a_kill_at_any_step(seconds: float, *, deaf: bool) -> None:
    for step in range(2, STEPS):
        world = Fragile(step, deaf=deaf)
        key = world.queued()
        live_through(world, key, seconds)
        servers = {vm.name for vm in world.state.vms.values() if vm.server_id}
        assert len(servers) <= (1 if seconds == 0 else 2), f"kill at step {step}: {servers}"
        assert not world.runners
        assert not world.killed
        assert not any(vm.live for vm in world.state.vms.values())


def test_case_11_jobs_that_died_at_the_forge_are_dropped_without_a_vm() -> None:
    world = World()
    queued = world.job()
    world.finish(queued.key, "cancelled")
    world.now += 26 * 3600
    world.handle(ev.JobSeen(queued))
    world.run()
    assert not world.state.vms
    assert world.state.jobs[queued.key].status is JobStatus.DONE


def test_case_11_what_the_forge_still_calls_queued_after_the_deadline_is_served() -> None:
    world = World()
    queued = world.job()
    world.now += 26 * 3600
    world.handle(ev.JobSeen(queued))
    assert not world.state.vms
    world.run()
    assert world.vm_for(queued.key).live
