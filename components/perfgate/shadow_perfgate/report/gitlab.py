"""GitLab's metrics report (OpenMetrics text) and code-quality report (JSON)."""

import json
import re
from hashlib import sha256
from pathlib import Path
from statistics import median

from shadow_perfgate.decide.verdict import Decision, MetricDecision, Verdict, WorkloadDecision
from shadow_perfgate.text import plain, visible

_SEVERITIES: dict[Verdict, str] = {
    Verdict.FAIL: "major",
    Verdict.INVALID: "critical",
    Verdict.ENVIRONMENT: "info",
    Verdict.INCONCLUSIVE: "info",
}
_UNITS = {
    "tok/s": "tokens_per_second",
    "req/s": "requests_per_second",
    "%": "percent",
    "count": "",
    "ratio": "ratio",
}


def metrics(decision: Decision) -> str:
    """Return the candidate's figures, rounded and with few labels: GitLab compares them as text."""
    families: dict[str, list[str]] = {}
    for workload in decision.workloads:
        gpu = workload.candidate.fingerprint.keys.get("gpu", "none") if workload.candidate else "none"
        for metric in workload.metrics:
            labels = f'workload="{_escape(workload.workload)}",gpu="{_escape(gpu)}"'
            value = plain(median(metric.candidate))
            families.setdefault(_family(metric), []).append(f"{{{labels}}} {value}")
        code = f'{{workload="{_escape(workload.workload)}"}} {workload.verdict.exit_code}'
        families.setdefault("perfgate_verdict", []).append(code)
    lines = [
        line
        for family, samples in families.items()
        for line in (f"# TYPE {family} gauge", *(family + sample for sample in samples))
    ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def code_quality(decision: Decision, config: Path) -> str:
    """Return what is wrong, placed at the metric's threshold in `config`."""
    text = config.read_text(encoding="utf-8") if config.is_file() else ""
    found = [issue for workload in decision.workloads for issue in _issues(workload, config.name, text)]
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _issues(workload: WorkloadDecision, path: str, text: str) -> list[dict[str, object]]:
    said: list[tuple[str, str, Verdict, str]] = []
    for metric in workload.metrics:
        if metric.gated and metric.verdict is not Verdict.PASS:
            where = f"{workload.workload}/{metric.spec.name}"
            said.append((where, "regression", metric.verdict, metric.message))
    for finding in workload.findings:
        if finding.verdict is not None:
            where = f"{workload.workload}/{finding.rule}"
            said.append((where, finding.rule, finding.verdict, finding.message))
    return [_issue(where, rule, verdict, message, path, text) for where, rule, verdict, message in said]


def _issue(where: str, rule: str, verdict: Verdict, message: str, path: str, text: str) -> dict[str, object]:
    # Without numbers, so that the same regression stays the same issue from run to run.
    digest = sha256(f"{where}|{rule}|{verdict}".encode()).hexdigest()
    return {
        "description": f"{where}: {message}",
        "check_name": f"perfgate.{rule}",
        "fingerprint": digest,
        "severity": _SEVERITIES[verdict],
        "location": {"path": path, "lines": {"begin": _line(where.rsplit("/", 1)[-1], text)}},
    }


def _line(name: str, text: str) -> int:
    header = re.compile(rf'\[metrics\."?(?:[^"\]]*/)?{re.escape(name)}"?\]')
    return next((number for number, line in enumerate(text.splitlines(), 1) if header.match(line.strip())), 1)


def _family(metric: MetricDecision) -> str:
    unit = _UNITS.get(metric.spec.unit, metric.spec.unit.lower())
    return re.sub(r"[^a-zA-Z0-9_]+", "_", f"perfgate_{metric.spec.name}_{unit}").strip("_")


def _escape(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
