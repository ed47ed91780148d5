"""Keeps the pairs of a merge request's gate, so that a retry adds to them and is no second throw of dice."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shadow_perfgate import codec
from shadow_perfgate.baseline.sessions import Entry, Key, branch_prefix, entries, file_name, readable
from shadow_perfgate.baseline.store import ExistsError, Store
from shadow_perfgate.decide.rules import MOST_PAIRS
from shadow_perfgate.decide.verdict import Finding
from shadow_perfgate.errors import StoreError
from shadow_perfgate.model import Run, Session

ARMS = ("base", "candidate")
_TOKEN = 16
"""Digits that name an attempt; each look's pairs are a file of their own for each arm."""


@dataclass(slots=True)
class Attempt:
    """One try at measuring, which keeps its pairs look by look."""

    token: str = field(default_factory=lambda: secrets.token_hex(_TOKEN // 2))
    parts: int = 0


@dataclass(frozen=True, slots=True)
class Earlier:
    """The pairs of earlier attempts on the same commits, machine and workload."""

    base: tuple[Run, ...]
    candidate: tuple[Run, ...]
    count: int
    damaged: tuple[str, ...] = ()
    """What was wrong with files of attempts: these count, though their pairs cannot."""

    def with_new(self, base: Session, candidate: Session) -> tuple[Session, Session]:
        """Return the new sessions with the earlier runs before their own."""
        return (
            replace(base, runs=(*self.base, *base.runs)),
            replace(candidate, runs=(*self.candidate, *candidate.runs)),
        )

    @property
    def findings(self) -> list[Finding]:
        """Return what a reader should know of it."""
        counted = f"attempt {self.count + 1} on this commit: the {len(self.candidate)} pairs measured before"
        said = Finding("retry", None, f"{counted} count too, and its tests get 1/{2**self.count} of alpha")
        lost = [f"{fault}; the attempt counts without its pairs" for fault in self.damaged]
        return [said, *(Finding("retry", None, text) for text in lost)]


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts on one commit of one merge request."""

    store: Store
    project: str
    request: str
    commit: str
    now: datetime

    def seen(self, workload: str) -> bool:
        """Tell whether an earlier attempt measured pairs of a workload of that name, or may have done."""
        try:
            found, damaged = readable(self.store, self._entries(branch_prefix(self.project, self._branch)))
        except StoreError:
            return False
        return bool(damaged) or any(session.workload.name == workload for session in found)

    def earlier(self, candidate: Session) -> Earlier | None:
        """Return the pairs measured before like `candidate`; none when the store cannot be read."""
        try:
            found, damaged = readable(self.store, self._entries(self._prefix(candidate)))
        except StoreError:
            return None
        both = _matched(found, candidate.merge_base)
        count = len(both.keys() | {_attempt(name) for name in damaged})
        if not count:
            return None
        base, new = (tuple(_apart([arms[side] for arms in both.values()])) for side in (0, 1))
        return Earlier(base, new, count, tuple(damaged.values()))

    def keep(self, base: Session, candidate: Session, attempt: Attempt) -> Finding | None:
        """Store further pairs of this attempt; return a notice when that is refused."""
        files = {
            f"{self._prefix(candidate)}{name}.json": codec.dumps(_lean(session, name, arm, attempt)).encode()
            for arm, session in zip(ARMS, (base, candidate), strict=True)
            for name in (file_name(self.now, self.commit, f"{attempt.token}{attempt.parts:02d}{arm[0]}"),)
        }
        try:
            self.store.create(files)
        except (StoreError, ExistsError) as error:
            return Finding("retry", None, f"{error}; a retry cannot count this attempt's pairs")
        attempt.parts += 1
        return None

    @property
    def _branch(self) -> str:
        return f"mr/{self.request}"

    def _prefix(self, candidate: Session) -> str:
        return Key.of(self.project, self._branch, candidate.fingerprint, candidate.workload).prefix

    def _entries(self, prefix: str) -> list[Entry]:
        return [e for e in entries(self.store, prefix) if e.commit and self.commit.startswith(e.commit)]


def _attempt(name: str) -> str:
    return Entry(name).id.rsplit("-", 1)[-1][:_TOKEN]


def _matched(found: Sequence[Session], merge_base: str) -> dict[str, tuple[list[Run], list[Run]]]:
    """Return the runs of both arms of every attempt from `merge_base`: of the looks that are whole."""
    arms = {(s.ci.get("attempt", ""), s.ci.get("look", ""), s.ci.get("arm", "")): s for s in found}
    both: dict[str, tuple[list[Run], list[Run]]] = {}
    for attempt, look in dict.fromkeys((attempt, look) for attempt, look, _ in arms if attempt):
        pair = [arms.get((attempt, look, arm)) for arm in ARMS]
        if all(session is not None and session.merge_base == merge_base for session in pair):
            for known, session in zip(both.setdefault(attempt, ([], [])), pair, strict=True):
                known.extend(session.runs if session is not None else ())
    return both


def _apart(attempts: Iterable[Sequence[Run]]) -> Iterator[Run]:
    """Yield the runs with pair numbers that no two attempts share."""
    for place, runs in enumerate(attempts, 1):
        for run in runs:
            yield replace(run, pair=None if run.pair is None else run.pair + MOST_PAIRS * place)


def _lean(session: Session, name: str, arm: str, attempt: Attempt) -> Session:
    """Return the session with what deciding needs; plots are drawn of the attempt that measured them."""
    runs = tuple(replace(run, series={}, samples={}, conditions={}) for run in session.runs)
    told = {"arm": arm, "attempt": attempt.token, "look": str(attempt.parts)}
    return replace(session, id=name, runs=runs, ci={**session.ci, **told})
