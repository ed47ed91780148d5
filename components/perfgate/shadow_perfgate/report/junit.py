"""JUnit XML for the test widgets of GitLab and others: one test case for each workload and metric."""

from collections.abc import Iterator
from dataclasses import dataclass
from re import sub
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shadow_perfgate.decide.verdict import Decision, MetricDecision, Verdict, WorkloadDecision

_TAGS = {
    Verdict.FAIL: "failure",
    Verdict.INVALID: "error",
    Verdict.ENVIRONMENT: "error",
    Verdict.INCONCLUSIVE: "skipped",
}
_NOT_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    tag: str
    kind: str
    message: str


def render(decision: Decision) -> str:
    """Return the report; its totals count every workload."""
    root = Element("testsuites")
    cases = {workload.workload: list(_cases(workload)) for workload in decision.workloads}
    _count(root, [case for found in cases.values() for case in found])
    for workload in decision.workloads:
        suite = SubElement(root, "testsuite", name=f"perfgate.{_clean(workload.workload)}")
        _count(suite, cases[workload.workload])
        seconds = _seconds(workload)
        suite.set("time", f"{seconds:.1f}")
        # Widgets add the cases up.
        each = f"{seconds / max(1, len(cases[workload.workload])):.1f}"
        for case in cases[workload.workload]:
            _add(suite, case, f"perfgate.{_clean(workload.workload)}", each)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _cases(workload: WorkloadDecision) -> Iterator[_Case]:
    for metric in workload.metrics:
        yield _metric(metric)
    taken: dict[str, int] = {}
    for finding in workload.findings:
        if finding.verdict is not None:
            # Of equal names GitLab shows only the first.
            taken[finding.rule] = taken.get(finding.rule, 0) + 1
            number = f" {taken[finding.rule]}" if taken[finding.rule] > 1 else ""
            yield _Case(f"{finding.rule}{number}", _TAGS[finding.verdict], finding.verdict, finding.message)


def _metric(metric: MetricDecision) -> _Case:
    if not metric.gated:
        return _Case(metric.spec.name, "skipped", "observed", metric.message)
    kind = "regression" if metric.verdict is Verdict.FAIL else str(metric.verdict)
    return _Case(metric.spec.name, _TAGS.get(metric.verdict, ""), kind, metric.message)


def _add(suite: Element, case: _Case, classname: str, seconds: str) -> None:
    element = SubElement(suite, "testcase", classname=classname, name=_clean(case.name), time=seconds)
    if case.tag:
        told = SubElement(element, case.tag, message=_clean(case.message))
        if case.tag != "skipped":
            told.set("type", case.kind)
        # Some versions of GitLab show only the body.
        told.text = _clean(case.message)
    else:
        SubElement(element, "system-out").text = _clean(case.message)


def _count(element: Element, cases: list[_Case]) -> None:
    tags = [case.tag for case in cases]
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(tags.count(tag)))


def _seconds(workload: WorkloadDecision) -> float:
    sessions = [session for session in (workload.base, workload.candidate) if session]
    return sum(run.duration_s for session in sessions for run in session.runs)


def _clean(text: str) -> str:
    return sub(_NOT_XML, "?", text)
