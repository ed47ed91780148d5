"""The gate on the main branch: measures what was merged, appends it to the baseline, watches the history."""

from dataclasses import dataclass

from shadow_perfgate.baseline.history import Line, lines
from shadow_perfgate.baseline.sessions import append
from shadow_perfgate.errors import StoreError
from shadow_perfgate.gate.request import Setting
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Measurer


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was appended, and what the history says with it."""

    sessions: tuple[Session, ...]
    warnings: tuple[str, ...]
    unstored: tuple[Session, ...] = ()
    """What the store refused."""
    refused: StoreError | None = None


def record(measurers: dict[str, Measurer], setting: Setting) -> Recorded:
    """Measure every workload, append the sessions to main, and return what is worth an issue."""
    runs = setting.config.rules.looks[0]
    measured = [setting.labelled(m.candidate(runs, setting.progress)) for m in measurers.values()]
    unfit = tuple(
        f"{session.workload.name}: not recorded: {'; '.join(session.environment_faults)}"
        for session in measured
        if session.environment_faults
    )
    return _stored([session for session in measured if not session.environment_faults], unfit, setting)


def _stored(fit: list[Session], unfit: tuple[str, ...], setting: Setting) -> Recorded:
    kept: list[Session] = []
    try:
        # One by one: what was kept before a refusal stays kept.
        kept.extend(append(setting.store, session, setting.config.main, setting.now) for session in fit)
        found = lines(setting.store, setting.project, setting.config)
    except StoreError as error:
        return Recorded(tuple(kept), unfit, tuple(fit[len(kept) :]), error)
    return Recorded(tuple(kept), (*unfit, *watch(found)))


def watch(found: list[Line]) -> list[str]:
    """Return the messages about gated metrics."""
    return [message for line in found if line.gated for message in line.messages()]
