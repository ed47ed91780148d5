"""What a run is made of: a seed, a number of jobs, and the kinds of trouble that may happen."""

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from shadow_autoscaler.core.jobs import ForgeKind
from shadow_autoscaler.core.machines import Market
from shadow_autoscaler.core.pools import Deployment, IdleWindow, Pool, Rung
from shadow_autoscaler.testing.faults import Rates


class Trouble(StrEnum):
    """One kind of trouble; a failing scenario is shrunk by leaving kinds out."""

    ERRORS = "errors"
    """5xx, refused connections, 401 and rate limits, before anything happens."""
    LOST_ANSWERS = "lost-answers"
    """Calls that take effect, and whose answer is a time-out."""
    STALE = "stale"
    """Lists of servers and jobs that show an earlier moment."""
    STORE = "store"
    """Writes that the store refuses."""
    HOOKS_LOST = "hooks-lost"
    HOOKS_DOUBLED = "hooks-doubled"
    HOOKS_LATE = "hooks-late"
    """Webhooks up to ten minutes late, so in any order."""
    RECLAIMS = "reclaims"
    """Spot VMs taken after a notice of 15 minutes."""
    SILENT_RECLAIMS = "silent-reclaims"
    CAPACITY = "capacity"
    """Fewer hosts than jobs; servers end in ERROR."""
    BUILD_FAILS = "build-fails"
    BOOT_FAILS = "boot-fails"
    """Bad GPUs, and VMs that never say a word."""
    VANISH = "vanish"
    """On-demand VMs that stop or disappear."""
    REPORTS_LOST = "reports-lost"
    """Requests of VMs that do not arrive, or whose answer does not."""
    KILLS = "kills"
    """The process dies between any two steps and starts again, at once or after up to an hour."""
    CLOCK = "clock"
    """The process's clock jumps, both ways, by up to ten minutes, six hours or ten days."""
    SUSPENDS = "suspends"
    """The process's machine is suspended for up to an hour, and only its wall clock goes on."""
    LEFTOVERS = "leftovers"
    STUCK = "stuck"
    """Deletions that do nothing the first time."""
    CANCELS = "cancels"
    OWN_FAILURES = "own-failures"
    """Jobs that fail by themselves, which nobody may run again."""


EVERYTHING = frozenset(Trouble)


@dataclass(frozen=True, slots=True)
class Work:
    """One job as a user wants it done."""

    number: int
    at: float
    """Seconds after the start."""
    forge: ForgeKind
    project: str
    run_id: int
    name: str
    labels: tuple[str, ...]
    seconds: float
    fails: bool = False
    cancel_after: float | None = None
    """Seconds after its submission at which the user cancels it."""


class Plan(Protocol):
    """What a simulation needs to know of its scenario."""

    @property
    def seed(self) -> int: ...
    @property
    def jobs(self) -> int: ...
    @property
    def trouble(self) -> frozenset[Trouble]: ...
    @property
    def arrival_s(self) -> float:
        """How long jobs keep coming."""
        ...

    def has(self, trouble: Trouble) -> bool:
        """Whether that kind of trouble is part of it."""
        ...

    def rates(self) -> Mapping[str, Rates]:
        """Return the shares of failing calls."""
        ...

    def works(self) -> Iterator[Work]:
        """Yield the jobs."""
        ...


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run that the same values repeat exactly."""

    seed: int
    jobs: int = 300
    trouble: frozenset[Trouble] = field(default=EVERYTHING)

    def has(self, trouble: Trouble) -> bool:
        """Whether that kind of trouble is part of it."""
        return trouble in self.trouble

    @property
    def arrival_s(self) -> float:
        """How long jobs keep coming: about 70 an hour."""
        return self.jobs / 70 * 3600

    def rates(self) -> Mapping[str, Rates]:
        """Return the shares of failing calls."""
        before = 0.03 if self.has(Trouble.ERRORS) else 0.0
        after = 0.02 if self.has(Trouble.LOST_ANSWERS) else 0.0
        stale = 0.1 if self.has(Trouble.STALE) else 0.0
        return {
            "*": Rates(before, after, stale),
            "store": Rates(0.002 if self.has(Trouble.STORE) else 0.0),
        }

    def works(self) -> Iterator[Work]:
        """Yield the jobs: matrices of one to six that come together."""
        number = 0
        run_id = 0
        while number < self.jobs:
            run_id += 1
            rng = random.Random(f"{self.seed}:{run_id}")
            count = min(rng.choice((1, 1, 1, 2, 3, 6)), self.jobs - number)
            at = rng.uniform(0.0, self.arrival_s)
            yield from self._run(rng, run_id, at, range(number, number + count))
            number += count

    def _run(self, rng: random.Random, run_id: int, at: float, numbers: range) -> Iterator[Work]:
        forge, labels = rng.choice(DEMANDS)
        for number in numbers:
            cancelled = self.has(Trouble.CANCELS) and rng.random() < 0.03
            yield Work(
                number,
                at + rng.uniform(0.0, 5.0),
                forge,
                f"acme/project{run_id % 7}",
                run_id,
                f"job{number}",
                labels,
                min(4 * 3600.0, 600.0 * math.exp(rng.gauss(0.0, 1.1))),
                fails=self.has(Trouble.OWN_FAILURES) and rng.random() < 0.05,
                cancel_after=rng.uniform(1.0, 900.0) if cancelled else None,
            )


def _pool(name: str, forge: ForgeKind, labels: tuple[str, ...], size: int, idle: int = 0) -> Pool:
    ladder = (
        Rung(f"{name}-preemptible", Market.SPOT, 0.30, 4, 16_384),
        Rung(name, Market.ON_DEMAND, 0.50, 4, 16_384),
    )
    windows = (IdleWindow(idle, start="08:00", end="18:00"),) if idle else ()
    return Pool(name, forge, labels, ladder, size, windows)


DEPLOYMENT = Deployment(
    "chaos",
    (
        _pool("rtx2000", ForgeKind.GITHUB, ("self-hosted", "linux", "gpu", "rtx2000"), 20, idle=1),
        _pool("a4500", ForgeKind.GITHUB, ("self-hosted", "linux", "gpu", "a4500"), 12),
        _pool("lab", ForgeKind.GITLAB, ("shadow-gpu", "lab"), 20),
    ),
    max_vms=40,
)
DEMANDS = (
    (ForgeKind.GITHUB, ("self-hosted", "gpu")),
    (ForgeKind.GITHUB, ("self-hosted", "RTX2000")),
    (ForgeKind.GITHUB, ("self-hosted", "linux", "a4500")),
    (ForgeKind.GITLAB, ("shadow-gpu",)),
    (ForgeKind.GITLAB, ("shadow-gpu", "lab")),
)
