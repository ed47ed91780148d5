"""What a change is compared with: the forge and what is merged say so, never the change itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SLOW = 13.6


def in_folder(project: Any, folder: str = "ci") -> None:
    """Move the gate of main into a folder."""
    (project.folder / folder).mkdir()
    project.git("mv", "bench.py", "perfgate.toml", "speed.json", folder)
    project.git("commit", "-q", "-m", "a folder of its own")


def linked(project: Any) -> None:
    project.git("mv", "ci", "ci2")
    (project.folder / "ci").symlink_to("ci2")


def submodule(project: Any) -> None:
    project.git("mv", "ci", "ci2")
    source = str(project.folder)
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, "ci")
    (project.folder / "ci/perfgate.toml").write_bytes((project.folder / "ci2/perfgate.toml").read_bytes())


@pytest.mark.parametrize(
    ("hide", "said"),
    [
        (linked, "its folder ci is a link; name the folder that it leads to"),
        (submodule, "lies in a submodule"),
        (
            lambda p: p.git("mv", "ci", "ci2"),
            "moves it away from ci/perfgate.toml, whose rules it is held to",
        ),
    ],
    ids=["link", "submodule", "moved"],
)
def test_a_moved_configuration_does_not_switch_the_gate_off(
    project: Any, hide: Callable[[Any], None], said: str
) -> None:
    in_folder(project)
    project.git("checkout", "-q", "-b", "feature")
    hide(project)
    project.git("add", ".")
    project.git("commit", "-q", "-m", "tidy up")
    place = "ci/perfgate.toml" if (project.folder / "ci").exists() else "ci2/perfgate.toml"
    result = project.on_request("-c", place)
    assert result.code == 2, result.output
    assert said in result.output
    file = project.folder / "same.json"
    file.write_text(
        json.dumps({"schema_version": 1, "workload": {"name": "w"}, "runs": []}), encoding="utf-8"
    )
    if place.startswith("ci/") and "link" in said:
        assert said in project.gate("compare", file, file, "-c", place).output


def test_a_link_entered_by_the_shell_is_seen_too(project: Any) -> None:
    in_folder(project)
    project.git("checkout", "-q", "-b", "feature")
    linked(project)
    project.git("add", ".")
    project.git("commit", "-q", "-m", "tidy up")
    inside = type(project.gate)(project.folder / "ci2")
    result = inside("gate", PWD=str(project.folder / "ci"), GITLAB_CI="true", CI_MERGE_REQUEST_IID="7")
    assert result.code == 2, result.output
    assert "its folder ci is a link" in result.output


def test_a_checkout_behind_a_link_of_the_machine_is_none_of_the_change(project: Any, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(project.folder)
    project.change(SLOW)
    assert project.on_request("-c", str(tmp_path / "way" / "perfgate.toml")).code == 1


def event(project: Any, head: str, base: str) -> dict[str, str]:
    """Return the environment of a GitHub job for a pull request."""
    path = project.folder.parent / "event.json"
    pull = {"number": 7, "head": {"sha": head}, "base": {"sha": base}}
    said = {"pull_request": pull, "repository": {"default_branch": "main"}}
    path.write_text(json.dumps(said), encoding="utf-8")
    return {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(path), "GITHUB_BASE_REF": "main"}


@pytest.mark.parametrize("checked_out", ["head", "merge"])
def test_updating_the_branch_does_not_make_a_pull_request_its_own_base(
    project: Any, checked_out: str
) -> None:
    project.change(SLOW)
    project.git("checkout", "-q", "main")
    project.gate.text("README", "more")
    project.git("add", ".")
    project.git("commit", "-q", "-m", "main went on")
    base = project.git("rev-parse", "main")
    project.git("checkout", "-q", "feature")
    project.git("merge", "-q", "--no-ff", "-m", "update branch", "main")
    head = project.git("rev-parse", "HEAD")
    if checked_out == "merge":
        project.git("checkout", "-q", "--detach", "main")
        project.git("merge", "-q", "--no-ff", "-m", "pull/7/merge", head)
    result = project.gate("gate", **event(project, head, base))
    assert result.code == 1, result.output
    sessions = json.loads((project.folder / "perfgate-report/decision.json").read_text(encoding="utf-8"))
    assert sessions["workloads"][0]["base"]["commit"] == base


def test_a_pull_request_that_is_behind_is_compared_with_where_it_left_main(project: Any) -> None:
    base = project.git("rev-parse", "main")
    project.change(12.5)
    head = project.git("rev-parse", "HEAD")
    project.git("checkout", "-q", "main")
    project.commit(10.0)
    tip = project.git("rev-parse", "main")
    project.git("checkout", "-q", "feature")
    result = project.gate("gate", **event(project, head, tip))
    assert result.code == 0, result.output
    sessions = json.loads((project.folder / "perfgate-report/decision.json").read_text(encoding="utf-8"))
    assert sessions["workloads"][0]["base"]["commit"] == base


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "feature", "CI_DEFAULT_BRANCH": "main"},
        {"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "feature"},
    ],
    ids=["outside", "branch", "unnamed"],
)
def test_a_branch_cannot_call_itself_main(project: Any, job: dict[str, str]) -> None:
    project.git("checkout", "-q", "-b", "feature")
    project.configure("[metrics.itl", '[gate]\nmain = "feature"\n[metrics.itl')
    project.commit(SLOW)
    result = project.gate("gate", **job)
    assert result.code == 2, result.output
    assert "gate.main: got 'feature', expected 'main' as in the merge-base" in result.output
    assert project.gate("baseline", "list").output == ""


def test_a_main_branch_of_another_name_is_told(project: Any) -> None:
    project.git("branch", "-q", "-m", "main", "trunk")
    project.change(12.5)
    job = {"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "feature", "CI_DEFAULT_BRANCH": "trunk"}
    result = project.gate("gate", **job)
    assert result.code == 2, result.output
    assert "the branch 'main' is not known" in result.output
    project.configure("[metrics.itl", '[gate]\nmain = "release"\n[metrics.itl')
    project.commit(12.5)
    project.git("branch", "-q", "release", "feature~1")
    result = project.on_request(CI_DEFAULT_BRANCH="trunk", CI_MERGE_REQUEST_TARGET_BRANCH_NAME="trunk")
    assert result.code == 0, result.output
    assert "gate.main is 'release', the project's default branch is 'trunk'" in result.output


PROMPTS = 'engine = "command"\nprompts = "data/prompts.jsonl"'
TWO = '{"prompt": "one"}\n{"prompt": "two"}\n'


def prompted(project: Any) -> dict[str, Any]:
    decision = json.loads((project.folder / "perfgate-report/decision.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = decision["workloads"][0]["candidate"]["workload"]
    return found


def test_prompts_behind_a_link_of_the_change_are_the_merge_bases(project: Any) -> None:
    project.gate.text("data/prompts.jsonl", TWO)
    project.configure('engine = "command"', PROMPTS)
    project.commit(12.5)
    project.git("checkout", "-q", "-b", "feature")
    project.git("rm", "-q", "-r", "data")
    project.gate.text("easy/prompts.jsonl", '{"prompt": "one"}\n')
    (project.folder / "data").symlink_to("easy")
    project.commit(12.5)
    assert project.on_request().code == 0
    assert prompted(project)["prompts"] == 2


def test_prompts_outside_of_version_control_are_told_and_a_change_cannot_bring_them(project: Any) -> None:
    project.gate.text(".gitignore", "perfgate-report/\ndata/\n")
    project.gate.text("data/prompts.jsonl", TWO)
    project.configure('engine = "command"', PROMPTS)
    project.commit(12.5)
    project.git("checkout", "-q", "-b", "feature")
    project.commit(12.5)
    result = project.on_request()
    assert result.code == 0, result.output
    assert "prompts data/prompts.jsonl of workload 'decode' are not under version control" in result.output
    project.git("add", "-f", "data/prompts.jsonl")
    project.commit(12.5)
    result = project.on_request()
    assert result.code == 2, result.output
    assert "bring them under another name" in result.output


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 40\n".format("0" * 64)


def test_what_the_merge_base_cannot_give_does_not_hand_its_rules_to_the_change(project: Any) -> None:
    project.gate.text("data/prompts.jsonl", POINTER)
    project.configure('engine = "command"', PROMPTS)
    project.commit(12.5)
    project.git("checkout", "-q", "-b", "feature")
    project.gate.text("data/prompts.jsonl", TWO)
    project.configure('limit = "5%"', 'limit = "90%"')
    project.commit(SLOW)
    result = project.on_request()
    assert result.code == 2, result.output
    assert "a Git LFS pointer; install git-lfs where the gate runs" in result.output


def test_a_configuration_that_is_a_link_in_the_merge_base_judges(project: Any) -> None:
    project.git("mv", "perfgate.toml", "rules.toml")
    (project.folder / "perfgate.toml").symlink_to("rules.toml")
    project.commit(12.5)
    project.git("checkout", "-q", "-b", "feature")
    rules = project.folder / "rules.toml"
    rules.write_text(rules.read_text(encoding="utf-8").replace('"5%"', '"90%"'), encoding="utf-8")
    project.commit(SLOW)
    result = project.on_request()
    assert result.code == 1, result.output
    assert "judged by the perfgate.toml of the merge-base" in result.output


def stored_at(project: Any, place: str, config: str = "perfgate.toml") -> None:
    """Have main keep its baseline in a folder relative to its configuration."""
    path = project.folder / config
    rows = path.read_text(encoding="utf-8").splitlines()
    rows = [f'url = "folder:{place}"' if row.startswith("url") else row for row in rows]
    path.write_text("\n".join(rows), encoding="utf-8")


def test_a_change_cannot_bring_its_own_baseline(project: Any) -> None:
    stored_at(project, ".perfgate")
    project.commit(12.5)
    for _ in range(3):
        assert project.on_main().code == 0
    project.git("checkout", "-q", "-b", "feature")
    project.git("add", "-f", ".perfgate")
    project.commit(12.5)
    result = project.on_request()
    assert result.code == 0, result.output
    assert "the store folder:.perfgate has files under version control" in result.output
    assert "interleaved with the merge-base" in result.output


def test_a_store_is_one_folder_for_all_commands(project: Any) -> None:
    in_folder(project)
    stored_at(project, "store", "ci/perfgate.toml")
    project.git("commit", "-q", "-a", "-m", "store")
    job = {"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"}
    assert project.gate("gate", "-c", "ci/perfgate.toml", **job).code == 0
    assert project.gate("baseline", "list", "-c", "ci/perfgate.toml").output.count(".json") == 1
    assert "decode" in project.gate("history", "-c", "ci/perfgate.toml").output


NEW = """
[[workload]]
name = "new"
engine = "command"
[workload.command]
argv = ["sh", "new.sh"]
"""


@pytest.mark.parametrize(("script", "code"), [("echo '{\"itl_median\": 1}'", 0), ("exit 3", 2)])
def test_a_workload_that_comes_with_its_script_has_to_run_only(project: Any, script: str, code: int) -> None:
    project.git("checkout", "-q", "-b", "feature")
    config = project.folder / "perfgate.toml"
    config.write_text(config.read_text(encoding="utf-8") + NEW, encoding="utf-8")
    project.gate.text("new.sh", script + "\n")
    project.commit(12.5)
    result = project.on_request("-w", "new")
    assert result.code == code, result.output
    assert ("new, and nothing in base to compare with: base" in result.output) == (code == 0)
