"""What `gate` and `run` need beside the configuration: the repository, its base, a measurer per workload."""

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from shadow_perfgate import ci
from shadow_perfgate.baseline import ancestry
from shadow_perfgate.baseline.ancestry import Ancestry, is_shallow
from shadow_perfgate.baseline.git import GitError, git, line, within
from shadow_perfgate.ci import Job
from shadow_perfgate.config import Config
from shadow_perfgate.errors import Faults, InputError, StoreError
from shadow_perfgate.gate.judging import Judged, judge
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
            self._tree = self.stack.enter_context(checkout.at(self.repository, self.commit)) / self.below
            checkout.made_ready(self._tree, self.prepare)
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
    head = config.path.resolve().parent
    checkout.made_ready(head, config.prepare)
    with ExitStack() as stack:
        tree = None
        if base is not None:
            below = head.relative_to(repository.resolve())
            tree = BaseCheckout(repository, base.commit, below, base.prepare, stack)
        shared = stack.enter_context(closing(Launchers()))
        yield {plan.name: OnDemand(LocalMeasurer(plan, head, launchers=shared), tree) for plan in plans}


def read_plans(config: Config) -> list[Plan]:
    """Return the configured workloads; every fault of every table is named."""
    if not config.workloads:
        raise InputError(
            f"{config.path}: no [[workload]], expected at least one; `shadow-perfgate init` writes an example"
        )
    return plan_input.plans(config.workloads, str(config.path), config.path.resolve().parent)


def all_plans(found: Judged, head: Config) -> list[Plan]:
    """Return the merge-base's workloads as it measures them, and those that only `head` has."""
    if found.before is None:
        return read_plans(head)
    return [*found.plans, *(plan for plan in read_plans(head) if plan.name in found.config.added)]


def chosen(plans: Sequence[Plan], only: tuple[str, ...]) -> list[Plan]:
    """Return the plans named in `only`, or all."""
    names = [plan.name for plan in plans]
    faults = Faults("--workload")
    for name in only:
        if name not in names:
            faults.add("name", name, f"one of {', '.join(names)}", "correct it")
    faults.raise_if_any()
    return [plan for plan in plans if not only or plan.name in only]


def repository_of(folder: Path) -> Path:
    """Return the top of the git repository that `folder` lies in, or the folder itself."""
    return Path(line(folder, "rev-parse", "--show-toplevel") or folder)


def ensure_repository(folder: Path) -> None:
    """Raise `InputError` when git is missing or refuses `folder`: there is nothing to compare with."""
    try:
        git(folder, "rev-parse", "--git-dir")
    except GitError as error:
        said = error.stderr.strip().splitlines()[:1]
        raise InputError(f"{folder}: git refuses it: {' '.join(said)}; run the gate in a checkout") from None
    except StoreError as error:
        raise InputError(f"{error}; the gate needs git in the job's image") from None


def usable(way: Ancestry, repository: Path, config: Config) -> Ancestry:
    """Return `way`, or one without a base when the base has no configuration: it cannot be measured."""
    if not way.merge_base and is_shallow(repository):
        raise InputError(f"{repository}: {way.notice}; otherwise the gate could never block")
    if not way.merge_base:
        return way
    fetch(repository, way.merge_base)
    path = within(repository, config.path) or config.path.name
    if line(repository, "cat-file", "-t", f"{way.merge_base}:{path}"):
        return way
    known = bool(line(repository, "cat-file", "-t", way.merge_base))
    why = f"the merge-base {way.merge_base[:12]} has no {path}: this change brings the gate"
    return Ancestry("", way.commits, why) if known else way


def ancestry_of(config: Config, repository: Path, job: Job, base: str = "") -> Ancestry:
    """Return the way into main of what is checked out; `base` names the merge-base, or else the forge."""
    known = base or _forge_base(repository, job)
    return ancestry.of(repository, "HEAD", job.target or config.main, known)


def judged(config: Config, wanted: str) -> Judged:
    """Return whose rules judge sessions that are compared in this checkout, as `gate` would."""
    repository, job = repository_of(config.path.resolve().parent), ci.detect(os.environ)
    way = ancestry_of(config, repository, job)
    fetch(repository, way.merge_base)
    found = judge(config, repository, way.merge_base, wanted)
    if job.request and not way.merge_base:
        return replace(found, notices=(*found.notices, f"judged by its own {config.path}: {way.notice}"))
    return found


def _forge_base(repository: Path, job: Job) -> str:
    """Return the base as the forge names it; a pull request's merge commit names it best."""
    parents = line(repository, "rev-list", "--parents", "-n", "1", "HEAD").split()[1:]
    if job.provider == "github" and job.request and len(parents) == 2:
        return parents[0]
    return job.base


def fetch(repository: Path, commit: str) -> None:
    """Get `commit` from origin when a shallow clone lacks it; what fails is told by the checkout."""
    if commit and not line(repository, "cat-file", "-t", commit):
        line(repository, "fetch", "--quiet", "--depth=1", "origin", commit)
