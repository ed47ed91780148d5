"""The gate of one merge request: for each workload the stored baseline, then interleaved pairs."""

from dataclasses import dataclass, replace
from datetime import date, datetime

from shadow_perfgate.baseline.ancestry import Ancestry
from shadow_perfgate.baseline.choose import Baseline, choose
from shadow_perfgate.baseline.sessions import Key, branch_prefix, entries
from shadow_perfgate.baseline.store import Store
from shadow_perfgate.ci import Job
from shadow_perfgate.config import Config
from shadow_perfgate.decide.stored import decide_stored
from shadow_perfgate.decide.verdict import Decision, Finding, Verdict, WorkloadDecision
from shadow_perfgate.decide.workload import over_gate
from shadow_perfgate.errors import BaseArmError, EnvironmentFaultError, MeasureError, StoreError
from shadow_perfgate.gate import benchmark
from shadow_perfgate.gate.attempts import Attempts
from shadow_perfgate.gate.interleaved import decide_interleaved
from shadow_perfgate.model import Session
from shadow_perfgate.ports import Measurer, Progress


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds for all workloads of one gate run."""

    config: Config
    job: Job
    store: Store
    ancestry: Ancestry
    now: datetime
    progress: Progress

    @property
    def has_base(self) -> bool:
        """Tell whether there is a base to measure pairs with."""
        return bool(self.ancestry.merge_base)

    @property
    def today(self) -> date:
        """Return the day by which waivers expire."""
        return self.now.date()

    @property
    def project(self) -> str:
        """Return the project's name in the store."""
        return self.config.project or self.job.project

    def attempts(self) -> Attempts | None:
        """Return the attempts on this commit; none where it is no merge request's job."""
        if not (self.job.request and self.job.commit):
            return None
        return Attempts(self.store, self.project, self.job.request, self.job.commit, self.now)

    def again(self, workload: str) -> bool:
        """Tell whether pairs of this workload were measured before on this commit."""
        attempts = self.attempts()
        return attempts is not None and attempts.seen(workload)

    def labelled(self, session: Session) -> Session:
        """Return `session` with what is known of the project, the commit and the job."""
        return replace(
            self.config.describe(session),
            project=self.project,
            commit=self.job.commit,
            merge_base=self.ancestry.merge_base,
            ci=self.job.session_fields(),
            created=self.now.isoformat(),
        )


@dataclass(frozen=True, slots=True)
class Labelled:
    """A measurer whose sessions know where they come from."""

    inner: Measurer
    setting: Setting

    def candidate(self, runs: int, progress: Progress) -> Session:
        """Measure the candidate alone."""
        return self.setting.labelled(self.inner.candidate(runs, progress))

    def pairs(self, first: int, last: int, progress: Progress) -> tuple[Session, Session]:
        """Measure interleaved pairs."""
        base, candidate = self.inner.pairs(first, last, progress)
        base = replace(self.setting.labelled(base), commit=self.setting.ancestry.merge_base)
        return base, self.setting.labelled(candidate)


def gate(measurers: dict[str, Measurer], setting: Setting) -> Decision:
    """Return the decision over all workloads."""
    notices = [setting.ancestry.notice] if setting.ancestry.notice else []
    notices += benchmark.changed(setting.config, setting.ancestry.merge_base)
    if setting.job.attempt > 1 and not any(map(setting.again, measurers)):
        notices.append(f"attempt {setting.job.attempt}: a pass after retries says less than a first one")
    decided = [_safely(name, Labelled(measurer, setting), setting) for name, measurer in measurers.items()]
    return Decision(over_gate(decided, setting.config.rules_for, setting.today), tuple(notices))


def _safely(name: str, measurer: Labelled, setting: Setting) -> WorkloadDecision:
    """Turn a failing workload or an unfit machine into its verdict, so that the others still run."""
    try:
        return _one(name, measurer, setting)
    except MeasureError as error:
        return _found(name, *(Finding("measure", Verdict.INVALID, fault) for fault in error.faults))
    except EnvironmentFaultError as error:
        return _found(name, *(Finding("machine", Verdict.ENVIRONMENT, fault) for fault in error.faults))


def _one(name: str, measurer: Labelled, setting: Setting) -> WorkloadDecision:
    stored, notice = None, Finding("stored", None, "not compared with the stored baseline")
    # Pairs that were measured before count on; the stored baseline would be a second chance without them.
    if setting.config.stored_runs and not setting.again(name):
        empty = _nothing_stored(setting) if setting.has_base else None
        stored, notice = (None, empty) if empty else _stored(measurer, setting)
    if stored is not None and (stored.verdict is Verdict.PASS or not setting.has_base):
        return _with(stored, notice)
    if setting.has_base:
        return _with(_pairs(name, measurer, setting), notice)
    return missing_baseline(name, notice.message, setting.config)


def _pairs(name: str, measurer: Labelled, setting: Setting) -> WorkloadDecision:
    """Return what pairs decide; a workload that the change brings may have nothing in base to measure."""
    rules, attempts = setting.config.rules_for(name), setting.attempts()
    try:
        return decide_interleaved(name, measurer, rules, setting.today, setting.progress, attempts)
    except BaseArmError as error:
        if name not in setting.config.added:
            raise
        measurer.candidate(1, setting.progress)
        why = f"new, and nothing in base to compare with: {error.faults[0]}"
        return replace(_found(name, Finding("new", None, why)), stage="interleaved")


def _nothing_stored(setting: Setting) -> Finding | None:
    """Return a notice when there is nothing to measure the candidate for: pairs decide anyway."""
    prefix = branch_prefix(setting.project, setting.config.main)
    try:
        if entries(setting.store, prefix):
            return None
    except StoreError as error:
        return Finding("store", None, f"{error}; went on without the stored baseline")
    return Finding("no-baseline", None, f"no baseline: no sessions of {setting.config.main} are stored")


def _stored(measurer: Labelled, setting: Setting) -> tuple[WorkloadDecision | None, Finding]:
    candidate = measurer.candidate(setting.config.stored_runs, setting.progress)
    try:
        baseline = stored_baseline(candidate, setting)
    except StoreError as error:
        return None, Finding("store", None, f"{error}; went on without the stored baseline")
    if not baseline.sessions:
        return None, Finding("no-baseline", None, baseline.notice)
    return against_stored(baseline, candidate, setting), Finding("baseline", None, baseline.notice)


def stored_baseline(candidate: Session, setting: Setting) -> Baseline:
    """Return the sessions of main to compare `candidate` with."""
    key = Key.of(candidate.project, setting.config.main, candidate.fingerprint, candidate.workload)
    return choose(setting.store, key, setting.ancestry)


def against_stored(baseline: Baseline, candidate: Session, setting: Setting) -> WorkloadDecision:
    """Compare `candidate` with stored sessions: a pass, or not decided."""
    described = [setting.config.describe(session) for session in baseline.sessions]
    rules = setting.config.rules_for(candidate.workload.name)
    return decide_stored(described, candidate, rules, setting.today)


def missing_baseline(name: str, why: str, config: Config) -> WorkloadDecision:
    """Return what perfgate.toml says a missing baseline means."""
    policy = config.missing_baseline
    if policy == "fail":
        remedy = "measure main first (`shadow-perfgate gate` on the main branch records it)"
        return _found(name, Finding("no-baseline", Verdict.INVALID, f"{why}; {remedy}"))
    after = "saved when main runs the gate" if policy == "bootstrap" else "nothing was compared"
    return _found(name, Finding("no-baseline", None, f"{why}; {after} (missing_baseline = {policy!r})"))


def _found(name: str, *findings: Finding) -> WorkloadDecision:
    said = [finding.verdict for finding in findings if finding.verdict]
    return WorkloadDecision(name, said[0] if said else Verdict.PASS, findings=findings, stage="stored")


def _with(decision: WorkloadDecision, notice: Finding) -> WorkloadDecision:
    return replace(decision, findings=(*decision.findings, notice))
