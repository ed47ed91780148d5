"""Keeps the pairs of a merge request's gate, so that a retry adds to them and is no second throw of dice."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shadow_perfgate import codec
from shadow_perfgate.baseline.sessions import Entry, Key, branch_prefix, entries, file_name, load
from shadow_perfgate.baseline.store import ExistsError, Store
from shadow_perfgate.decide.verdict import Finding
from shadow_perfgate.errors import StoreError
from shadow_perfgate.model import Run, Session

ARMS = ("base", "candidate")
_APART = 1000
"""Added to an earlier attempt's pair numbers, so that no two pairs have one number."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The pairs of earlier attempts on the same commits, machine and workload."""

    base: Session
    candidate: Session
    count: int

    def with_new(self, base: Session, candidate: Session) -> tuple[Session, Session]:
        """Return the new sessions with the earlier runs before their own."""
        return (
            replace(base, runs=(*self.base.runs, *base.runs)),
            replace(candidate, runs=(*self.candidate.runs, *candidate.runs)),
        )

    @property
    def finding(self) -> Finding:
        """Return what a reader should know of it."""
        return Finding(
            "retry",
            None,
            f"attempt {self.count + 1} on this commit: the {len(self.candidate.runs)} pairs measured before "
            f"count too, and its tests get 1/{2**self.count} of alpha",
        )


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts on one commit of one merge request."""

    store: Store
    project: str
    request: str
    commit: str
    now: datetime

    def seen(self, workload: str) -> bool:
        """Tell whether an earlier attempt measured pairs of a workload of that name."""
        try:
            found = load(self.store, self._entries(branch_prefix(self.project, self._branch)))
        except StoreError:
            return False
        return any(session.workload.name == workload for session in found)

    def earlier(self, candidate: Session) -> Earlier | None:
        """Return the pairs measured before like `candidate`; none when the store cannot be read."""
        try:
            found = load(self.store, self._entries(self._prefix(candidate)))
        except StoreError:
            return None
        both = list(_matched(found, candidate.merge_base))
        if not both:
            return None
        base, new = (tuple(_apart([pair[side] for pair in both])) for side in (0, 1))
        return Earlier(replace(both[0][0], runs=base), replace(both[0][1], runs=new), len(both))

    def keep(self, base: Session, candidate: Session) -> Finding | None:
        """Store the pairs of this attempt; return a notice when that is refused."""
        attempt = secrets.token_hex(8)
        files = {
            f"{self._prefix(candidate)}{name}.json": codec.dumps(_lean(session, name, arm, attempt)).encode()
            for arm, session in zip(ARMS, (base, candidate), strict=True)
            for name in (file_name(self.now, self.commit, f"{attempt}{arm[0]}"),)
        }
        try:
            self.store.create(files)
        except (StoreError, ExistsError) as error:
            return Finding("retry", None, f"{error}; a retry cannot count this attempt's pairs")
        return None

    @property
    def _branch(self) -> str:
        return f"mr/{self.request}"

    def _prefix(self, candidate: Session) -> str:
        return Key.of(self.project, self._branch, candidate.fingerprint, candidate.workload).prefix

    def _entries(self, prefix: str) -> list[Entry]:
        return [e for e in entries(self.store, prefix) if e.commit and self.commit.startswith(e.commit)]


def _matched(found: Sequence[Session], merge_base: str) -> Iterator[tuple[Session, Session]]:
    """Yield (base, candidate) of every attempt that is whole and started from `merge_base`."""
    arms = {(s.ci.get("attempt", ""), s.ci.get("arm", "")): s for s in found if s.merge_base == merge_base}
    for attempt in dict.fromkeys(attempt for attempt, _ in arms if attempt):
        pair = tuple(arms.get((attempt, arm)) for arm in ARMS)
        if pair[0] is not None and pair[1] is not None:
            yield pair[0], pair[1]


def _apart(sessions: Sequence[Session]) -> Iterator[Run]:
    for place, session in enumerate(sessions, 1):
        for run in session.runs:
            yield replace(run, pair=None if run.pair is None else run.pair + _APART * place)


def _lean(session: Session, name: str, arm: str, attempt: str) -> Session:
    """Return the session with what deciding needs; plots are drawn of the attempt that measured them."""
    runs = tuple(replace(run, series={}, samples={}, conditions={}) for run in session.runs)
    return replace(session, id=name, runs=runs, ci={**session.ci, "arm": arm, "attempt": attempt})
