"""A world without faults: servers come up, the forge gives jobs, lists are true, until all is done."""

from dataclasses import dataclass

from unit.autoscaler.core.samples import FAILED
from unit.autoscaler.core.world import Machine, World

from shadow_autoscaler.core import events as ev
from shadow_autoscaler.core.jobs import JobStatus
from shadow_autoscaler.core.machines import ServerStatus


@dataclass(slots=True)
class Calm:
    """Brings a world to rest."""

    world: World
    foreign: tuple[str, ...]
    """Registrations of others."""

    def settle(self, steps: int = 600) -> None:
        """Let time pass until everything is served and gone."""
        for pool in self.world.deployment.pools:
            self.world.handle(ev.Drained(pool.name, on=False))
        for _ in range(steps):
            self._step()
            if self._quiet():
                return

    def known(self, machine: Machine) -> bool:
        """The runtime hears only the server that the VM is known by."""
        vm = self.world.state.vms.get(machine.server.name)
        return vm is not None and vm.server_id == machine.server.server_id

    def online(self) -> None:
        """Let every VM that was given a configuration take it."""
        for machine in self.world.machines.values():
            up = machine.server.status is ServerStatus.ACTIVE and not machine.ended
            if up and self.known(machine):
                self.world.take(machine.server.name)

    def registrations(self) -> set[str]:
        """Return our registrations that no live VM has."""
        live = {vm.runner_name for vm in self.world.state.vms.values() if vm.live}
        return set(self.world.runners) - set(self.foreign) - live

    def _step(self) -> None:
        world = self.world
        for machine in list(world.machines.values()):
            if machine.server.status in {ServerStatus.BUILDING, ServerStatus.UNKNOWN}:
                world.set_server(machine, ServerStatus.ACTIVE)
        world.look()
        world.run()
        for machine in list(world.machines.values()):
            self._speaks(machine)
        world.run()
        self.online()
        self._forge()
        world.wait(61.0)

    def _speaks(self, machine: Machine) -> None:
        if not self.known(machine) or machine.server.status is not ServerStatus.ACTIVE:
            return
        if machine.ended:
            self.world.handle(ev.VmReported(machine.server.name, "ended", "ok"))
        elif machine.runner not in self.world.runners:
            self.world.handle(ev.ConfigAsked(machine.server.name))

    def _forge(self) -> None:
        world = self.world
        for key, facts in list(world.jobs.items()):
            if facts.status is JobStatus.RUNNING:
                lost = not any(machine.job == key for machine in world.machines.values())
                world.finish(key, FAILED if lost else "success")
        for key, facts in list(world.jobs.items()):
            if facts.status is JobStatus.QUEUED:
                for machine in world.idle_runners(facts)[:1]:
                    world.start(key, machine)

    def _quiet(self) -> bool:
        world = self.world
        over = all(facts.status is JobStatus.DONE for facts in world.jobs.values())
        live = {vm.name: vm for vm in world.state.vms.values() if vm.live}
        loose = [one for one in world.leftovers if one.vm not in live]
        at_work = [vm for vm in live.values() if vm.job]
        return over and not at_work and not loose and not self.registrations()
