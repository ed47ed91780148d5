"""Puts the whole autoscaler together from a configuration file."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.machines import Vm
from shadow_autoscaler.core.names import runner_name
from shadow_autoscaler.core.state import State
from shadow_autoscaler.edge import adapters
from shadow_autoscaler.edge.config import Config
from shadow_autoscaler.edge.identity import Identity
from shadow_autoscaler.edge.logs import Redactor
from shadow_autoscaler.ports import Secrets, Store
from shadow_autoscaler.runtime import tickets
from shadow_autoscaler.runtime.engine import Engine, Observer
from shadow_autoscaler.runtime.lease import LEASE_S
from shadow_autoscaler.runtime.reads import Pace
from shadow_autoscaler.runtime.service import Service, World


@dataclass(frozen=True, slots=True)
class Base:
    """What every command and function needs."""

    config: Config
    folder: Path
    """Where relative paths count from."""
    secrets: Secrets
    store: Store
    redactor: Redactor

    @classmethod
    def of(cls, config: Config, folder: Path, redactor: Redactor | None = None) -> "Base":
        """Open store and secrets of a configuration."""
        redactor = redactor or Redactor()
        secrets = adapters.secrets(config, folder, redactor)
        return cls(config, folder, secrets, adapters.store(config, folder), redactor)

    def database(self) -> Path | None:
        """Return the file of the state, where it is one."""
        return self.folder / self.config.store.path if self.config.store.kind == "sqlite" else None

    def templates(self) -> Mapping[str, str]:
        """Return the user-data template of each pool."""
        return {
            pool.name: pool.template(self.folder).read_text(encoding="utf-8") for pool in self.config.pools
        }


def world(base: Base, templates: Mapping[str, str], names: adapters.Names) -> World:
    """Return the adapters of a configuration."""
    config = base.config
    pace = config.intervals
    return World(
        cloud=adapters.cloud(config),
        forges=adapters.forges(config, base.secrets, names),
        translate=adapters.translators(config),
        user_data=_user_data(base, templates),
        keep_console=consoles(base.folder / config.consoles) if config.consoles else _no_console,
        pace=Pace(**dict(pace)),
    )


def service(
    base: Base,
    *,
    observers: tuple[Observer, ...] = (),
    outside: World | None = None,
    owner: str = "",
    lease_s: float = LEASE_S,
    clock: Callable[[], float] = time.time,
    steady: Callable[[], float] | None = None,
) -> Service:
    """Return the machine, not yet started; `outside` replaces the adapters, in tests.

    `steady` is a clock that nobody sets, for a process that stays; functions are stopped between two calls.
    """
    templates = base.templates()
    engine = Engine(
        base.store,
        adapters.deployment(base.config, templates),
        decide,
        clock,
        observers=observers,
        steady=steady,
    )
    return Service(
        engine,
        outside or world(base, templates, lambda: engine.read(_registrations)),
        owner or Identity().name,
        lease_s=lease_s,
        resumes=base.config.queue is None,
    )


def _registrations(state: State) -> list[str]:
    return [
        runner_name(vm.name, number) for vm in state.vms.values() for number in range(1, vm.registrations + 1)
    ]


def consoles(folder: Path) -> Callable[[str, str], None]:
    """Return what keeps a failed VM's console log, as one file per VM for the operator alone."""

    def keep(vm: str, text: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{vm}.log"
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")

    return keep


def _no_console(_vm: str, _text: str) -> None:
    return


def _user_data(base: Base, templates: Mapping[str, str]) -> Callable[[Vm], str]:
    def render(vm: Vm) -> str:
        key = base.secrets.get(base.config.callback_key)[0]
        return tickets.render(templates[vm.pool], vm=vm.name, key=key, callback_url=base.config.callback_url)

    return render
