"""Compares given sessions with the store, for results that were measured elsewhere. It never blocks."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from shadow_perfgate import ci
from shadow_perfgate.baseline import ancestry
from shadow_perfgate.baseline.store import Store
from shadow_perfgate.config import Config
from shadow_perfgate.decide.verdict import Decision, Finding, WorkloadDecision
from shadow_perfgate.gate.place import folder_of
from shadow_perfgate.gate.request import Setting, against_stored, missing_baseline, stored_baseline
from shadow_perfgate.model import Session


def compare_stored(sessions: Sequence[Session], store: Store, config: Config, now: datetime) -> Decision:
    """Return, for each session, a pass or "not decided"; a missing baseline means what the policy says."""
    job = ci.detect(os.environ)
    root = folder_of(config.path)
    head = sessions[0].commit or "HEAD"
    setting = Setting(
        config=config,
        job=job,
        store=store,
        ancestry=ancestry.of(root, head, job.target or config.main, sessions[0].merge_base or job.base),
        now=now,
        progress=_silent,
    )
    return Decision(tuple(_one(config.labelled(session), setting) for session in sessions))


def _one(session: Session, setting: Setting) -> WorkloadDecision:
    baseline = stored_baseline(session, setting)
    if not baseline.sessions:
        return missing_baseline(session.workload.name, baseline.notice, setting.config)
    decided = against_stored(baseline, session, setting)
    notice = Finding("baseline", None, baseline.notice)
    return replace(decided, findings=(*decided.findings, notice))


def _silent(what: str, done: int, total: int) -> None:
    del what, done, total
