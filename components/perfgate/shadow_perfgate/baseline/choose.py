"""Chooses the sessions of main that a candidate is compared with."""

from dataclasses import dataclass

from shadow_perfgate.baseline.ancestry import Ancestry
from shadow_perfgate.baseline.sessions import Entry, Key, entries, load
from shadow_perfgate.baseline.store import Store
from shadow_perfgate.model import Session

MOST = 10
"""Sessions that a baseline is made of."""
_LEAST_DIGITS = 7
"""Fewer digits of a commit do not tell which one it is."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The sessions to compare with, newest last, and what a reader should know about them."""

    sessions: tuple[Session, ...]
    notice: str


def choose(store: Store, key: Key, ancestry: Ancestry) -> Baseline:
    """Return up to ten sessions of the nearest measured ancestors of the merge-base."""
    found = entries(store, key.prefix)
    if not found:
        where = f"fingerprint {key.fingerprint} and workload {key.workload} on {key.branch}"
        return Baseline((), f"no baseline for {where}")

    near = _nearest(found, ancestry)
    if near is None:
        chosen = found[-MOST:]
        why = ancestry.notice or "no measured commit is an ancestor (was main force-pushed?)"
        return Baseline(
            tuple(load(store, chosen)), f"{why}; compared with the newest sessions of {key.branch}"
        )
    chosen, distance = near
    away = (
        f"baseline is {distance} commit(s) before the merge-base"
        if distance
        else "baseline is the merge-base"
    )
    return Baseline(tuple(load(store, chosen)), f"{away}, {len(chosen)} session(s)")


def _nearest(found: list[Entry], ancestry: Ancestry) -> tuple[list[Entry], int] | None:
    # Stored commits differ in length: tools shorten them, imported sessions have none.
    lengths = {len(entry.commit) for entry in found if len(entry.commit) >= _LEAST_DIGITS}
    order = {
        commit[:length]: place
        for place, commit in reversed(list(enumerate(ancestry.commits)))
        for length in lengths
    }
    known = [entry for entry in found if entry.commit in order]
    if not known:
        return None
    nearest_first = sorted(known, key=lambda entry: order[entry.commit])
    return nearest_first[:MOST][::-1], order[nearest_first[0].commit]
