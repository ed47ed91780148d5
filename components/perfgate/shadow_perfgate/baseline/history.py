"""Main's history in a store: what each metric did over its sessions, and which sessions may go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from shadow_perfgate.baseline.sessions import Entry, branch_prefix, entries, load
from shadow_perfgate.baseline.store import Store
from shadow_perfgate.config import Config
from shadow_perfgate.decide.history import ENDS, Drift, Step, drift, drifted, steps
from shadow_perfgate.decide.rules import Role
from shadow_perfgate.model import MetricSpec, Session
from shadow_perfgate.text import share

SMALLEST_STEP = 0.01


@dataclass(frozen=True, slots=True)
class Point:
    """One session's value of a metric."""

    session: str
    commit: str
    created: str
    value: float


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one workload on one machine, over main's sessions."""

    workload: str
    machine: str
    spec: MetricSpec
    points: tuple[Point, ...]
    steps: tuple[Step, ...]
    drift: Drift | None
    limit: float
    gated: bool

    @property
    def drifted(self) -> bool:
        """Tell whether the metric got worse little by little."""
        return drifted(self.drift, self.limit)

    def messages(self) -> Iterator[str]:
        """Yield what is worth an issue: steps for the worse, and drift."""
        where = f"{self.workload}/{self.spec.name}"
        for step in self.steps:
            if step.change > 0:
                at = self.points[step.place]
                since = f"at commit {at.commit[:12]} ({at.created[:10]}, p {step.p:.1g})"
                yield f"{where}: step of {share(step.change)} {since}"
        if self.drifted and self.drift is not None:
            first = self.points[0]
            since = f"since {first.commit[:12]} ({first.created[:10]})"
            yield f"{where}: slow drift of {share(self.drift.change)} {since}; limit {share(self.limit)}"


def lines(store: Store, project: str, config: Config) -> list[Line]:
    """Return every metric's line on the main branch, gated ones first."""
    prefix = branch_prefix(project, config.main)
    by_key: dict[str, list[Entry]] = {}
    for entry in entries(store, prefix):
        by_key.setdefault(entry.name.rsplit("/sessions/", 1)[0], []).append(entry)
    found = [line for group in by_key.values() for line in _lines(load(store, group), config)]
    return sorted(found, key=lambda line: (not line.gated, line.workload, line.spec.name))


def _lines(sessions: Sequence[Session], config: Config) -> Iterator[Line]:
    described = [config.describe(session) for session in sessions]
    newest = described[-1]
    for spec in newest.metrics:
        points = [point for session in described if (point := _point(session, spec))]
        if points:
            yield _line(newest, spec, points, config)


def _line(newest: Session, spec: MetricSpec, points: list[Point], config: Config) -> Line:
    threshold = config.rules.threshold(spec, newest.workload.name)
    values = [point.value for point in points]
    positive = min(values) > 0
    least = max(SMALLEST_STEP, threshold.limit / 2)
    return Line(
        workload=newest.workload.name,
        machine=newest.fingerprint.keys.get("gpu", newest.fingerprint.digest),
        spec=spec,
        points=tuple(points),
        steps=tuple(steps(values, spec.direction, least)) if positive else (),
        drift=drift(values, spec.direction) if positive else None,
        limit=threshold.limit,
        gated=threshold.role is Role.GATE,
    )


def _point(session: Session, spec: MetricSpec) -> Point | None:
    values = [run.metrics[spec.name] for run in session.counted if spec.name in run.metrics]
    same = any(m.name == spec.name and m.definition == spec.definition for m in session.metrics)
    return Point(session.id, session.commit, session.created, median(values)) if values and same else None


def prunable(found: Sequence[Entry], now: datetime, *, keep: int, days: int) -> list[Entry]:
    """Return the sessions older than `days`, but for the newest `keep` of each key and its first ones.

    The first ones are what slow drift is judged against. Sessions of merge requests go by age alone.
    """
    by_key: dict[str, list[Entry]] = {}
    for entry in found:
        by_key.setdefault(entry.name.rsplit("/sessions/", 1)[0], []).append(entry)
    oldest = now - timedelta(days=days)
    return [
        entry
        for key, group in by_key.items()
        for entry in (group if "/mr%2F" in key else group[ENDS : max(ENDS, len(group) - keep)])
        if entry.time < oldest
    ]
