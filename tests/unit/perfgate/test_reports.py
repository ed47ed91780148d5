"""Every report, read by its consumer's own parser or held against its schema."""

import io
import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from rich.console import Console

from gate_sessions import B7, SLOW7, latency, session
from shadow_perfgate.decide.rules import Rules, Waiver
from shadow_perfgate.decide.verdict import Decision, Finding, Verdict, WorkloadDecision
from shadow_perfgate.decide.workload import decide_workload
from shadow_perfgate.errors import InputError
from shadow_perfgate.model import Direction, Fingerprint, Series
from shadow_perfgate.report import data, files, gitlab, html, junit, markdown, terminal, trackers

TODAY = date(2026, 11, 30)
HOSTILE = 'a|b <script>alert("x")</script> & @everyone\x07\n- item'
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "lines": {"type": "object", "properties": {"begin": {"type": "integer", "minimum": 1}}}
                },
            },
        },
    },
}
GITHUB_ACTION_BENCHMARK = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "unit", "value"],
        "properties": {
            "name": {"type": "string"},
            "unit": {"type": "string"},
            "value": {"type": "number"},
            "range": {"type": "string"},
            "extra": {"type": "string"},
        },
    },
}
BENCHER = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z0-9-]{1,64}$"},
        "additionalProperties": {
            "type": "object",
            "required": ["value"],
            "additionalProperties": False,
            "properties": {k: {"type": "number"} for k in ("value", "lower_value", "upper_value")},
        },
    },
}


@pytest.fixture
def decision() -> Decision:
    """Return one failed, one waived and one observed metric, a finding, and a workload that is unfit."""
    vram = [16000.0] * 7
    base = session({"itl_median": B7, "output_tps": B7, "peak_vram_allocated": vram, "e2e_p95": B7})
    new = session(
        {"itl_median": SLOW7, "output_tps": B7, "peak_vram_allocated": [16800.0] * 7, "e2e_p95": B7}
    )
    timeline = Series("MiB", (1.0, 2.0, 3.0), (0.0, 0.5, 1.0))
    runs = tuple(replace(run, series={"vram": timeline}, duration_s=30.0) for run in new.runs)
    new = replace(new, runs=runs, notes=(HOSTILE,))
    waiver = Waiver("peak_vram_allocated", "longer context", date(2026, 12, 1), 0.08)
    first = decide_workload(base, new, Rules(waivers=(waiver,)), TODAY)
    other = replace(latency(B7, workload="prefill"), fingerprint=Fingerprint({"gpu": "A100"}))
    second = decide_workload(latency(B7, workload="prefill"), other, Rules(), TODAY)
    failed = WorkloadDecision(
        "broken", Verdict.INVALID, findings=(Finding("measure", Verdict.INVALID, HOSTILE),)
    )
    return Decision((first, second, failed), ("a notice",))


def test_junit_is_read_by_a_junit_parser(decision: Decision, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(junit.render(decision), encoding="utf-8")
    parsed = JUnitXml.fromfile(str(path))
    cases = {(case.classname, case.name): case for suite in parsed for case in suite}
    assert parsed.tests == len(cases) == 7
    assert (parsed.failures, parsed.errors, parsed.skipped) == (1, 2, 1)
    failed = cases["perfgate.chat128", "itl_median"]
    assert failed.result[0].type == "regression"
    assert "+7.8 % > 5 %" in failed.result[0].message
    assert failed.result[0].text == failed.result[0].message
    assert sum(case.time for case in cases.values()) == pytest.approx(210, abs=1)


def test_metrics_are_read_by_the_openmetrics_parser(decision: Decision) -> None:
    text = gitlab.metrics(decision)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    sample = families["perfgate_itl_median_ms"].samples[0]
    assert sample.labels == {"workload": "chat128", "gpu": "H100-SXM-80GB"}
    assert sample.value == 13.48
    verdicts = {s.labels["workload"]: s.value for s in families["perfgate_verdict"].samples}
    assert verdicts == {"chat128": 1, "prefill": 3, "broken": 2}
    assert text.endswith("# EOF\n")
    assert "e+" not in text


def test_code_quality_points_at_the_threshold_and_stays_the_same_issue(
    decision: Decision, tmp_path: Path
) -> None:
    config = tmp_path / "perfgate.toml"
    config.write_text('project = "x"\n\n[metrics.itl_median]\nlimit = "5%"\n', encoding="utf-8")
    found = json.loads(gitlab.code_quality(decision, config))
    jsonschema.validate(found, CODE_QUALITY)
    first = found[0]
    assert first["location"] == {"path": "perfgate.toml", "lines": {"begin": 3}}
    assert first["check_name"] == "perfgate.regression"
    again = json.loads(gitlab.code_quality(decision, tmp_path / "gone.toml"))
    assert [issue["fingerprint"] for issue in again] == [issue["fingerprint"] for issue in found]


def test_trackers_get_what_their_schemas_ask(decision: Decision) -> None:
    smaller = json.loads(trackers.github_action_benchmark(decision, Direction.LOWER))
    bigger = json.loads(trackers.github_action_benchmark(decision, Direction.HIGHER))
    for entries in (smaller, bigger):
        jsonschema.validate(entries, GITHUB_ACTION_BENCHMARK)
    assert [entry["name"] for entry in bigger] == ["chat128/output_tps"]
    assert {"name": "chat128/itl_median", "unit": "ms", "value": 13.479}.items() <= smaller[0].items()
    found = json.loads(trackers.bencher(decision))
    jsonschema.validate(found, BENCHER)
    assert found["chat128"]["itl-median"] == {"value": 13.479, "lower_value": 13.383, "upper_value": 13.611}


def test_markdown_says_the_verdict_and_lets_no_text_break_out(decision: Decision) -> None:
    text = markdown.comment(replace(decision, key="perfgate"))
    assert text.startswith("<!-- perfgate:perfgate -->\n### perfgate: 🚫 INVALID: a\\|b &lt;script")
    assert "**+7.8 %** [+7.0 %, +8.5 %]" in text
    assert "📝 waived" in text
    assert "<script" not in text
    assert "@everyone" not in text
    assert "[x](" not in text
    assert "\n- item" not in text


def test_long_markdown_is_cut_where_forges_would_refuse_it(decision: Decision) -> None:
    many = replace(decision, workloads=decision.workloads * 60)
    text = markdown.comment(replace(many, key="perfgate"))
    assert len(text) < 65_536
    assert "the whole report is in the job's artifacts" in text


def test_a_pass_in_which_nothing_was_compared_wears_no_green() -> None:
    empty = Decision((WorkloadDecision("w", Verdict.PASS, stage="stored"),))
    full = Decision((decide_workload(latency(B7), latency(B7), Rules(), TODAY),))
    for decided, green in ((empty, False), (full, True)):
        assert ("✅" in markdown.render(decided).splitlines()[0]) == green
        assert ('class="verdict bg-pass"' in html.render(decided, [])) == green
        console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=200)
        terminal.show(decided, console)
        last = console.file.getvalue().splitlines()[-1]  # type: ignore[attr-defined]
        assert ("\x1b[32m" in last) == green


def test_html_holds_everything_in_one_file(decision: Decision) -> None:
    page = html.render(decision, [])
    assert page.count("<svg") == page.count("</svg>") >= 8
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    for svg in page.split("<svg")[1:]:
        ET.fromstring("<svg" + svg.split("</svg>")[0] + "</svg>")  # noqa: S314 - our own page


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(min_value=5e-324, max_value=1.7e308), min_size=6, max_size=6))
def test_no_positive_value_breaks_a_decision_or_a_plot(values: list[float]) -> None:
    found = decide_workload(latency([1.0] * 6), latency(values), Rules(), TODAY)
    assert found.verdict in {Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE}
    assert html.render(Decision((found,)), []).count("<svg") in {1, 2}


def test_a_decision_comes_back_whole(decision: Decision, tmp_path: Path) -> None:
    paths = files.write_all(decision, tmp_path, tmp_path / "perfgate.toml")
    assert all(path.stat().st_size for path in paths)
    assert data.read(tmp_path / "decision.json") == decision


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"workloads": 1}'])
def test_a_file_that_is_no_decision_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"expected decision\.json"):
        data.read(path)


def test_the_summary_of_a_github_job_is_appended(
    decision: Decision, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    files.job_summary(decision)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n### perfgate:")


def test_a_summary_that_cannot_be_written_is_told(
    decision: Decision, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert files.job_summary(decision) == f"no job summary: {tmp_path}: Is a directory"
