"""What `gate` and `run` need beside the configuration: the repository, its base, a measurer per workload."""

from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shadow_perfgate.baseline.ancestry import Ancestry, is_shallow
from shadow_perfgate.baseline.git import GitError, git, line
from shadow_perfgate.config import Config
from shadow_perfgate.errors import Faults, InputError, StoreError
from shadow_perfgate.measure import checkout
from shadow_perfgate.measure.launch import Launchers
from shadow_perfgate.measure.local import LocalMeasurer
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.measure.plan_input import plan as read_plan
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Progress


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
    config: Config, repository: Path, base: str, only: tuple[str, ...]
) -> Generator[dict[str, OnDemand]]:
    """Yield a measurer for each workload (or those named in `only`)."""
    plans = read_plans(config, only)
    # Paths within a checkout are relative to where perfgate.toml lies.
    head = config.path.resolve().parent
    checkout.made_ready(head, config.prepare)
    with ExitStack() as stack:
        below = head.relative_to(repository.resolve()) if base else Path()
        tree = BaseCheckout(repository, base, below, config.prepare, stack) if base else None
        shared = stack.enter_context(closing(Launchers()))
        yield {plan.name: OnDemand(LocalMeasurer(plan, head, launchers=shared), tree) for plan in plans}


def read_plans(config: Config, only: tuple[str, ...] = ()) -> list[Plan]:
    """Return the configured workloads; every fault of every table is named."""
    if not config.workloads:
        raise InputError(
            f"{config.path}: no [[workload]], expected at least one; `shadow-perfgate init` writes an example"
        )
    faults = Faults(str(config.path))
    folder = config.path.resolve().parent
    plans = [read_plan(t, faults, f"workload[{i}]", folder) for i, t in enumerate(config.workloads)]
    found = [plan for plan in plans if plan is not None]
    names = [plan.name for plan in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.add("workload", name, "each name once", "rename one")
    for name in only:
        if name not in names and len(found) == len(plans):
            faults.add("--workload", name, f"one of {', '.join(names)}", "correct it")
    faults.raise_if_any()
    return [plan for plan in found if not only or plan.name in only]


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
    path = config.path.resolve().relative_to(repository.resolve()).as_posix()
    if line(repository, "cat-file", "-t", f"{way.merge_base}:{path}"):
        return way
    known = bool(line(repository, "cat-file", "-t", way.merge_base))
    why = f"the merge-base {way.merge_base[:12]} has no {path}: this change brings the gate"
    return Ancestry("", way.commits, why) if known else way


def fetch(repository: Path, commit: str) -> None:
    """Get `commit` from origin when a shallow clone lacks it; what fails is told by the checkout."""
    if not line(repository, "cat-file", "-t", commit):
        line(repository, "fetch", "--quiet", "--depth=1", "origin", commit)
