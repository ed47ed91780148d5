"""What `gate` and `run` need beside the configuration: the repository, its base, a measurer per workload."""

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from shadow_perfgate import ci
from shadow_perfgate.baseline.git import GitError, git, within
from shadow_perfgate.config import Config
from shadow_perfgate.errors import Faults, InputError, StoreError
from shadow_perfgate.gate.base import ancestry_of, fetch, known
from shadow_perfgate.gate.judging import Judged, judge
from shadow_perfgate.gate.place import ensure_plain, folder_of, repository_of
from shadow_perfgate.measure import checkout, plan_input
from shadow_perfgate.measure.launch import Launchers
from shadow_perfgate.measure.local import LocalMeasurer
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Progress


@dataclass(frozen=True, slots=True)
class Base:
    """What pairs are measured against."""

    commit: str
    prepare: tuple[tuple[str, ...], ...]
    """Commands that make its working tree ready: base's own."""


@dataclass(slots=True)
class BaseCheckout:
    """The working tree of the base commit, made when it is first needed and removed at the end."""

    repository: Path
    commit: str
    below: Path
    """Folder of perfgate.toml within the repository."""
    prepare: tuple[tuple[str, ...], ...]
    stack: ExitStack
    _tree: Path | None = field(default=None, init=False)

    def path(self) -> Path:
        """Return the folder of the working tree that answers to the candidate's."""
        if self._tree is None:
            fetch(self.repository, self.commit)
            tree = checkout.at(self.repository, self.commit, self.prepare, self.below)
            self._tree = self.stack.enter_context(tree)
        return self._tree


@dataclass(frozen=True, slots=True)
class OnDemand:
    """A measurer that makes base's working tree only when pairs are asked for."""

    local: LocalMeasurer
    base: BaseCheckout | None

    def candidate(self, runs: int, progress: Progress) -> Session:
        """Measure the candidate alone."""
        return self.local.candidate(runs, progress)

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Measure interleaved pairs."""
        if self.base is not None and self.local.base is None:
            progress("checking out base", 0, 1)
            self.local.base = self.base.path()
        return self.local.pairs(first, last, progress)


@contextmanager
def measurers(
    config: Config, plans: Sequence[Plan], repository: Path, base: Base | None = None
) -> Generator[dict[str, OnDemand]]:
    """Yield a measurer for each plan; pairs are measured against `base`."""
    # Paths within a checkout are relative to where perfgate.toml lies.
    head = folder_of(config.path)
    checkout.made_ready(head, config.prepare)
    with ExitStack() as stack:
        tree = None
        if base is not None:
            below = Path(within(repository, config.path)).parent
            tree = BaseCheckout(repository, base.commit, below, base.prepare, stack)
        shared = stack.enter_context(closing(Launchers()))
        yield {plan.name: OnDemand(LocalMeasurer(plan, head, launchers=shared), tree) for plan in plans}


def read_plans(config: Config) -> list[Plan]:
    """Return the configured workloads; every fault of every table is named."""
    if not config.workloads:
        raise InputError(
            f"{config.path}: no [[workload]], expected at least one; `shadow-perfgate init` writes an example"
        )
    return plan_input.plans(config.workloads, str(config.path), folder_of(config.path))


def all_plans(found: Judged, head: list[Plan]) -> list[Plan]:
    """Return the merge-base's workloads as it measures them, and those that only `head` has."""
    if found.before is None:
        return head
    return [*found.plans, *(plan for plan in head if plan.name in found.config.added)]


def chosen(plans: Sequence[Plan], only: tuple[str, ...]) -> list[Plan]:
    """Return the plans named in `only`, or all."""
    names = [plan.name for plan in plans]
    faults = Faults("--workload")
    for name in only:
        if name not in names:
            faults.add("name", name, f"one of {', '.join(names)}", "correct it")
    faults.raise_if_any()
    return [plan for plan in plans if not only or plan.name in only]


def ensure_repository(folder: Path) -> None:
    """Raise `InputError` when git is missing or refuses `folder`: there is nothing to compare with."""
    try:
        git(folder, "rev-parse", "--git-dir")
    except GitError as error:
        said = error.stderr.strip().splitlines()[:1]
        raise InputError(f"{folder}: git refuses it: {' '.join(said)}; run the gate in a checkout") from None
    except StoreError as error:
        raise InputError(f"{error}; the gate needs git in the job's image") from None


def judged(config: Config, wanted: str) -> Judged:
    """Return whose rules judge sessions that are compared in this checkout, as `gate` would."""
    repository, job = repository_of(folder_of(config.path)), ci.detect(os.environ)
    ensure_plain(config.path, repository, job)
    way = ancestry_of(config, repository, job)
    fetch(repository, way.merge_base)
    found = judge(config, repository, way.merge_base, wanted)
    lacking = bool(way.merge_base) and not known(repository, way.merge_base)
    if lacking or (job.request and not way.merge_base):
        why = f"the clone lacks the merge-base {way.merge_base}" if lacking else way.notice
        return replace(found, notices=(*found.notices, f"judged by its own {config.path}: {why}"))
    return found
