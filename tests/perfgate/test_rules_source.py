"""Whose limits judge a merge request: main's, so that it cannot loosen its own."""

import json
from collections.abc import Callable
from typing import Any

import pytest

OTHER = """
[[workload]]
name = "other"
engine = "command"
[workload.command]
argv = ["sh", "-c", "cat other.json"]
"""
EASY = 'argv = ["sh", "-c", "echo \'{\\"itl_median\\": 1}\'"]'
LOOSE: dict[str, Callable[[Any], None]] = {
    "limit": lambda p: p.configure('limit = "5%"', 'limit = "90%"'),
    "workload renamed": lambda p: p.configure('name = "decode"', 'name = "code"'),
    "measured otherwise": lambda p: p.configure("argv = ", f"{EASY}\n# "),
}
Loosen = Callable[[Any], None]


def loosened(project: Any, change: Loosen, speed: float = 13.6) -> Any:
    """Run a merge request that is 9 % slower and changes perfgate.toml."""
    project.git("checkout", "-q", "-b", "feature")
    change(project)
    project.commit(speed)
    return project.on_request()


@pytest.mark.parametrize("way", ["workload renamed", "measured otherwise"])
def test_a_change_cannot_loosen_what_it_is_held_to(project: Any, way: str) -> None:
    result = loosened(project, LOOSE[way])
    assert result.code == 1, result.output
    assert "judged by the perfgate.toml of the merge-base" in result.output
    assert "not used here, it holds once merged" in result.output


def test_rules_hidden_behind_a_link_are_the_merge_bases_too(project: Any) -> None:
    def link(p: Any) -> None:
        text = (p.folder / "perfgate.toml").read_text(encoding="utf-8")
        (p.folder / "mine.toml").write_text(text.replace('"5%"', '"90%"'), encoding="utf-8")
        (p.folder / "perfgate.toml").unlink()
        (p.folder / "perfgate.toml").symlink_to("mine.toml")

    assert loosened(project, link).code == 1


def test_prompts_are_the_merge_bases_too(project: Any) -> None:
    project.gate.text("prompts.jsonl", '{"prompt": "one"}\n{"prompt": "two"}\n')
    project.configure('engine = "command"', 'engine = "command"\nprompts = "prompts.jsonl"')
    project.commit(12.5)
    result = loosened(project, lambda p: p.gate.text("prompts.jsonl", '{"prompt": "one"}\n'), 12.5)
    assert result.code == 0, result.output
    decision = json.loads((project.folder / "perfgate-report/decision.json").read_text(encoding="utf-8"))
    assert decision["workloads"][0]["candidate"]["workload"]["prompts"] == 2


def test_a_change_of_rules_alone_passes_and_holds_once_merged(project: Any) -> None:
    result = loosened(project, LOOSE["limit"], 12.5)
    assert result.code == 0, result.output
    assert "limit of itl_median moved: gate 5 % -> gate 90 %: not used here" in result.output
    project.git("branch", "-f", "main", "feature")
    project.commit(13.6)
    result = project.on_request()
    assert result.code == 0, result.output
    assert "judged by" not in result.output


def test_what_only_the_change_has_is_judged_by_its_own_rules(project: Any) -> None:
    (project.folder / "other.json").write_text('{"itl_median": 5.0}', encoding="utf-8")
    project.commit(12.5)
    project.git("checkout", "-q", "-b", "feature")
    project.configure("[store]", '[metrics."other/itl_median"]\nlimit = "1%"\n[store]')
    config = project.folder / "perfgate.toml"
    config.write_text(config.read_text(encoding="utf-8") + OTHER, encoding="utf-8")
    (project.folder / "other.json").write_text('{"itl_median": 5.1}', encoding="utf-8")
    project.commit(12.5)
    result = project.on_request()
    assert result.code == 1
    assert "+2.0 % > 1 %" in result.output
    decision = json.loads((project.folder / "perfgate-report/decision.json").read_text(encoding="utf-8"))
    assert {w["workload"]: w["verdict"] for w in decision["workloads"]} == {"decode": "pass", "other": "fail"}


def test_head_judges_where_mains_configuration_says_so(project: Any) -> None:
    project.configure("[metrics.itl", '[gate]\nrules_from = "head"\n[metrics.itl')
    project.commit(12.5)
    result = loosened(project, LOOSE["limit"])
    assert result.code == 0, result.output
    assert "limit of itl_median moved: gate 5 % -> gate 90 % in this change" in result.output
    assert project.on_request("--rules-from", "base").code == 1


def test_a_configuration_of_main_that_cannot_be_read_does_not_block_its_repair(project: Any) -> None:
    good = (project.folder / "perfgate.toml").read_text(encoding="utf-8")
    project.gate.text("perfgate.toml", "[gate]\nno_such_key = 1\n")
    project.commit(12.5)
    result = loosened(project, lambda p: p.gate.text("perfgate.toml", good), 12.5)
    assert result.code == 0, result.output
    assert "judged by its own perfgate.toml: that of" in result.output


def test_compare_judges_as_the_gate_does(project: Any, runs: Callable[..., Any]) -> None:
    old = project.gate.write("old.json", runs("itl_median", [12.5, 12.4, 12.6, 12.5, 12.45]))
    new = project.gate.write("new.json", runs("itl_median", [13.6, 13.5, 13.7, 13.6, 13.55]))
    project.git("checkout", "-q", "-b", "feature")
    LOOSE["limit"](project)
    result = project.gate("compare", old, new)
    assert result.code == 1
    assert "judged by the perfgate.toml of the merge-base" in result.output
    assert project.gate("compare", old, new, "--rules-from", "head").code == 0
    assert project.gate("baseline", "add", old, old).code == 0
    assert project.gate("baseline", "compare", new, "--rules-from", "base").code == 3


def test_compare_in_a_shallow_clone_says_whose_rules_it_took(
    project: Any, runs: Callable[..., Any], tmp_path: Any
) -> None:
    project.change(12.5)
    shallow = tmp_path / "shallow"
    source = f"file://{project.folder}"
    project.git("clone", "-q", "--depth=1", "--branch=feature", source, str(shallow))
    file = project.gate.write("same.json", runs("itl_median", [12.5, 12.4, 12.6, 12.5, 12.45]))
    config = shallow / "perfgate.toml"
    result = project.gate("compare", file, file, "-c", config, GITLAB_CI="true", CI_MERGE_REQUEST_IID="7")
    assert "judged by its own" in result.output
    assert "set fetch-depth" in result.output


def test_init_writes_the_safe_source(gate: Any) -> None:
    assert gate("init", "--forge", "gitlab").code == 0
    assert 'rules_from = "base"' in (gate.folder / "perfgate.toml").read_text(encoding="utf-8")


def test_compare_outside_of_a_repository_says_whose_rules_it_took(
    gate: Any, runs: Callable[..., Any]
) -> None:
    file = gate.write("same.json", runs("itl_median", [12.5, 12.4, 12.6, 12.5, 12.45]))
    job = {"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "a" * 40}
    result = gate("compare", file, file, GIT_CEILING_DIRECTORIES=str(gate.folder.parent), **job)
    assert result.code == 0, result.output
    assert "judged by its own perfgate.toml: the clone lacks the merge-base aaaa" in result.output
