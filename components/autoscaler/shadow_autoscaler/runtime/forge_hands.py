"""Carries out intents at a forge."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from shadow_autoscaler.core.events import (
    Deregistered,
    DeregisterFailed,
    Event,
    JobMissing,
    JobSeen,
    Registered,
    RegisterFailed,
    Removal,
    RerunAnswered,
    RerunOutcome,
    Source,
)
from shadow_autoscaler.core.faults import Failure, FailureKind, PortError
from shadow_autoscaler.core.intents import CheckJob, Deregister, Register, RemoveRunner, Rerun
from shadow_autoscaler.core.jobs import ForgeKind, JobKey
from shadow_autoscaler.core.machines import Phase, Vm
from shadow_autoscaler.ports import Forge, Registration
from shadow_autoscaler.runtime.engine import Engine
from shadow_autoscaler.runtime.handover import Handover
from shadow_autoscaler.runtime.outcomes import Done, Later, Outcome, backoff

_log = logging.getLogger(__name__)
_TRIES = 12


@dataclass(frozen=True, slots=True)
class ForgeHands:
    """Registers and removes runners, asks about jobs and has them run again."""

    engine: Engine
    forges: Mapping[ForgeKind, Forge]
    handover: Handover

    def register(self, intent: Register) -> Outcome:
        """Mint the configuration of a VM that waits for it, if there still is work for it."""
        vm = self._wanted(intent)
        pool = self.engine.deployment.pool(vm.pool) if vm else None
        if vm is None or pool is None:
            return Done(then=lambda: self.handover.fail(intent.vm))
        try:
            registration = self._forge(pool.forge).register(pool, intent.runner_name, vm.job)
        except PortError as error:
            return Done(RegisterFailed(vm.name, error.failure), lambda: self.handover.fail(intent.vm))
        event = Registered(vm.name, registration.runner_id, registration.runner_name)
        return Done(event, lambda: self._hand_over(intent.vm, registration))

    def deregister(self, intent: Deregister) -> Outcome:
        """Remove the VM's registration; a busy one stays."""
        forge = self.forges.get(self.forge_of(intent.vm))
        if forge is None:
            # Nobody is left who could remove it, and a VM that waits for that would cost for ever.
            _log.error("alarm: %s stays registered: its forge is configured no more", intent.runner_name)
            return Done(Deregistered(intent.vm, Removal.GONE))
        try:
            outcome = forge.deregister(intent.runner_name, intent.runner_id)
        except PortError as error:
            return Done(DeregisterFailed(intent.vm, error.failure))
        return Done(Deregistered(intent.vm, outcome))

    def remove_runner(self, intent: RemoveRunner, attempts: int) -> Outcome:
        """Remove a registration without a VM; the next list shows whether it worked."""
        try:
            self._forge(intent.forge).deregister(intent.runner_name, intent.runner_id, intent.system_id)
        except PortError as error:
            return _again(error.failure, attempts)
        return Done()

    def check(self, intent: CheckJob, attempts: int) -> Outcome:
        """Ask about a job."""
        try:
            return Done(self._seen(intent.key))
        except PortError as error:
            return _again(error.failure, attempts)

    def rerun(self, intent: Rerun, attempts: int) -> Outcome:
        """Have a run's failed jobs run again."""
        try:
            outcome = self._forge(intent.key.forge).rerun(intent.key, intent.run_id)
        except PortError as error:
            if error.failure.kind is FailureKind.REFUSED or attempts + 1 >= _TRIES:
                return Done(RerunAnswered(intent.key, RerunOutcome.REFUSED, error.failure.text))
            return _again(error.failure, attempts)
        return Done(RerunAnswered(intent.key, outcome))

    def forge_of(self, name: str) -> ForgeKind:
        """Return the forge that a VM serves, also when its pool is no longer configured."""
        vm = self.engine.read(lambda state: state.vms.get(name))
        pool = self.engine.deployment.pool(vm.pool) if vm else None
        if pool is not None:
            return pool.forge
        return vm.job.forge if vm and vm.job else next(iter(self.forges), ForgeKind.GITHUB)

    def _forge(self, kind: ForgeKind) -> Forge:
        forge = self.forges.get(kind)
        if forge is None:
            text = f"{kind} is configured no more; add its section, or let its jobs end elsewhere"
            raise PortError(Failure(FailureKind.REFUSED, text))
        return forge

    def _wanted(self, intent: Register) -> Vm | None:
        vm = self.engine.read(lambda state: state.vms.get(intent.vm))
        if vm is None or vm.asked_at is None or vm.phase > Phase.READY:
            return None
        return vm if vm.runner_name == intent.runner_name else None

    def _seen(self, key: JobKey) -> Event:
        facts = self._forge(key.forge).job(key)
        return JobMissing(key) if facts is None else JobSeen(facts, Source.POLL)

    def _hand_over(self, name: str, registration: Registration) -> None:
        vm = self.engine.read(lambda state: state.vms.get(name))
        if vm is not None and vm.runner_name == registration.runner_name and vm.phase < Phase.CLOSING:
            self.handover.deliver(name, registration)
        else:
            self.handover.fail(name)


def _again(failure: Failure, attempts: int) -> Outcome:
    if attempts + 1 >= _TRIES or failure.kind in {FailureKind.REFUSED, FailureKind.CONFIG}:
        return Done()
    return Later(failure.retry_after_s or backoff(attempts), failure)
