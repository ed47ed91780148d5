"""Text and numbers of others: they neither steer a report nor lose a session nor look like a crash."""

from dataclasses import replace
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from gate_sessions import B7, latency
from shadow_perfgate import codec
from shadow_perfgate.baseline.ancestry import Ancestry
from shadow_perfgate.baseline.choose import choose
from shadow_perfgate.baseline.folder import FolderStore
from shadow_perfgate.baseline.sessions import Key, append, entries
from shadow_perfgate.compare import Decision
from shadow_perfgate.decide.rules import Rules
from shadow_perfgate.decide.workload import decide_workload
from shadow_perfgate.errors import InputError
from shadow_perfgate.imports import read
from shadow_perfgate.model import Direction, MetricSpec, Run
from shadow_perfgate.report import gitlab, markdown, terminal

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def shown(name: str, unit: str) -> tuple[str, str, str]:
    """Return the terminal's text, the Markdown and GitLab's metrics of a metric called like that."""
    runs = tuple(Run({name: value}) for value in B7)
    given = replace(latency(B7), runs=runs, metrics=(MetricSpec(name, unit, Direction.LOWER),), notes=(name,))
    decision = Decision((decide_workload(given, given, Rules(), date(2026, 11, 30)),))
    stream = StringIO()
    terminal.show(decision, Console(file=stream, width=200))
    return stream.getvalue(), markdown.render(decision), gitlab.metrics(decision)


@pytest.mark.parametrize("unit", ["ms", "tok/s", "/s", "bold red"])
def test_the_terminal_shows_units(unit: str) -> None:
    assert f"mine ↓ [{unit}]" in shown("mine", unit)[0]


@pytest.mark.parametrize("sign", ["\x1b[2J", "\x9b31m", "\r", "\u202e", "\x00"])
def test_no_text_steers_a_terminal(sign: str) -> None:
    for text in shown(f"mine{sign}", f"ms{sign}"):
        assert sign not in text


def test_no_name_leaves_its_place_in_markdown() -> None:
    text = shown("a`<img src=x>` @all ![p](http://x)", "<b>")[1]
    assert "`a'<img src=x>' @all ![p](http://x)`" in text
    assert "- a`&lt;img src=x>` @\u200ball ![p]\\(http://x)" in text
    assert "[<b>]" not in text


@pytest.mark.parametrize("commit", ["v1-2-rc", "../../../../x", "a b\nc", "é"])
def test_a_session_is_found_again_whatever_its_commit_says(tmp_path: Path, commit: str) -> None:
    store = FolderStore(tmp_path)
    session = replace(latency(B7), commit=commit)
    append(store, session, "main", NOW)
    prefix = Key.of(session.project, "main", session.fingerprint, session.workload).prefix
    assert len(entries(store, prefix)) == 1


def test_sessions_without_a_commit_do_not_hide_those_with_one(tmp_path: Path) -> None:
    store, session = FolderStore(tmp_path), latency(B7)
    for day, commit in enumerate(["", "abcdef1", "b" * 40], 1):
        append(store, replace(session, commit=commit), "main", NOW.replace(day=day))
    key = Key.of(session.project, "main", session.fingerprint, session.workload)
    found = choose(store, key, Ancestry("b" * 40, ("b" * 40, "abcdef1" + "0" * 33)))
    assert [one.commit[:1] for one in found.sessions] == ["a", "b"]


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400])
def test_numbers_without_end_are_named(tmp_path: Path, number: str) -> None:
    runs = '[{"metrics": {"itl_median": ' + number + "}}]"
    with pytest.raises(InputError, match=r"b\.json"):
        codec.loads('{"workload": {"name": "w"}, "runs": ' + runs + "}", "b.json")
    file = tmp_path / "b.json"
    file.write_text('{"benchmarks": [{"name": "a", "stats": {"data": [' + number + "]}}]}", encoding="utf-8")
    with pytest.raises(InputError, match=r"b\.json"):
        read(file, "pytest-benchmark")
