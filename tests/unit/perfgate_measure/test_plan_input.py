"""A workload's table is read strictly: every fault at once, with its place and remedy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shadow_perfgate.errors import Faults, InputError
from shadow_perfgate.measure import prompts
from shadow_perfgate.measure.plan import Plan
from shadow_perfgate.measure.plan_input import plan

Planned = Callable[..., Plan]


def test_a_small_table_gets_the_defaults(planned: Planned) -> None:
    found = planned(engine="callable", callable={"call": "bench.py:generate"})
    assert (found.quiet, found.seed, found.timeout_s, found.preload) == ("eager", 0, 900.0, ())
    assert found.warmup.tolerance == 0.02
    assert len(found.requests()) == 4


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({"engine": "vllm"}, "engine: got 'vllm', expected one of callable, transformers, openai, command"),
        ({"batch": 0}, "batch: got 0, expected a whole number from 1 to 4096"),
        ({"batch": True}, "batch: got True"),
        ({"passes": "5"}, "passes: got '5'"),
        ({"warmup_tolerance": 2}, "warmup_tolerance: got 2, expected a share above 0 and below 1"),
        ({"quiet": "silent"}, "quiet: got 'silent', expected one of eager, graphs, compile"),
        ({"quiet": "graphs"}, "input_tokens: got 0, expected a prompt length with quiet = 'graphs'"),
        ({"bacth": 4}, "bacth: got 4, expected a key of"),
        ({"callable": {}}, "callable: got \\[\\], expected one of call, load"),
        ({"callable": {"call": "a:b", "colour": 1}}, "callable.colour: got 1"),
        ({"callable": "a:b"}, "callable: got 'a:b', expected a table; write \\[workload.callable\\]"),
        ({"name": "two words"}, "name: got 'two words', expected letters"),
        (
            {"prompts": "nowhere.jsonl"},
            "prompts: got .*expected decode-heavy, prefill-heavy or a JSON lines file",
        ),
        ({"preload": "torch"}, "preload: got 'torch', expected a list"),
        (
            {"engine": "command", "command": {"argv": "python bench.py"}},
            "command.argv: got 'python bench.py'",
        ),
    ],
)
def test_each_fault_says_where_and_what(planned: Planned, table: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=rf"perfgate.toml: workload\[0\]\.{fault}"):
        planned(**{"engine": "callable", "callable": {"call": "bench.py:generate"}, **table})


def test_all_faults_come_at_once(planned: Planned) -> None:
    with pytest.raises(InputError) as caught:
        planned(engine="callable", callable={}, batch=0, quiet="x", passes=0)
    assert len(caught.value.faults) == 4


def test_the_identity_changes_with_the_work_and_not_with_secrets(planned: Planned) -> None:
    table = {"url": "http://127.0.0.1:1/v1", "api_key_env": "ONE"}
    one = planned(engine="openai", openai=table).workload()
    assert one == planned(engine="openai", openai={**table, "api_key_env": "TWO"}).workload()
    assert one.digest != planned(engine="openai", openai=table, batch=4).workload().digest
    assert one.digest != planned(engine="openai", openai=table, seed=7).workload().digest
    assert one.digest != planned(engine="openai", openai={**table, "extra": {"top_p": 1}}).workload().digest


@pytest.mark.parametrize(("name", "count"), [("decode-heavy", 32), ("prefill-heavy", 16)])
def test_the_standard_sets_are_pinned_and_share_no_beginning(name: str, count: int) -> None:
    faults = Faults("test")
    found = prompts.load(name, Path(), faults, "prompts")
    assert found is not None
    assert found.sha256 == prompts.STANDARD[name]
    assert len(found.prompts) == count
    assert len({text[:4] for _, text in found.prompts}) > count * 0.9


def test_a_changed_standard_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(prompts.STANDARD, "decode-heavy", "0" * 64)
    faults = Faults("test")
    assert prompts.load("decode-heavy", Path(), faults, "prompts") is None
    assert "the installed prompt file was changed" in faults.found[0]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "no prompts"),
        (b"\xff", "UTF-8"),
        (b'{"prompt": 1}', 'an object with a text "prompt"'),
        (b'{"prompt": "a"', "a JSON object"),
        (b'{"id": "x", "prompt": "a"}\n{"id": "x", "prompt": "b"}', "ids that occur once"),
    ],
)
def test_broken_prompt_files_are_refused_by_line(data: bytes, fault: str) -> None:
    faults = Faults("test")
    prompts.parse(data, faults, "prompts")
    assert any(fault in found for found in faults.found)


def test_the_plan_reads_tables_of_any_engine(tmp_path: Path) -> None:
    faults = Faults("test")
    table = {
        "name": "hf",
        "engine": "transformers",
        "transformers": {"load": "models.py:load"},
        "gpu_time": False,
    }
    found = plan(table, faults, "workload[0]", tmp_path)
    assert faults.found == []
    assert found is not None
    assert (found.prompts.source, found.gpu_time, found.output_tokens) == ("decode-heavy", False, 128)
