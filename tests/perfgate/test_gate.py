"""The gate from configuration to verdict: real processes, a real git repository, a benchmark command."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_c09_without_a_baseline_pairs_decide(project: Any) -> None:
    project.change(12.5)
    result = project.on_request()
    assert result.code == 0
    assert "no baseline: no sessions of main are stored" in result.output
    assert "interleaved with the merge-base on this machine, looks after 6 pairs" in result.output


def test_a_slower_model_is_blocked(project: Any) -> None:
    project.change(13.5)
    result = project.on_request()
    assert result.code == 1
    assert "FAIL: 1 of 2 gated metrics regressed" in result.output
    assert "+8." in result.output
    report = project.folder / "perfgate-report"
    assert {path.name for path in report.iterdir()} == {
        "decision.json", "report.md", "report.html", "junit.xml", "metrics.txt", "codequality.json",
        "benchmark-smaller.json", "benchmark-bigger.json", "bencher.json",
    }  # fmt: skip
    git(project.folder, "worktree", "prune")
    assert len(git(project.folder, "worktree", "list").splitlines()) == 1


def test_running_again_adds_to_what_was_measured(project: Any) -> None:
    project.change(13.5)
    assert project.on_request().code == 1
    again = project.on_request()
    assert again.code == 1
    assert "attempt 2 on this commit: the 6 pairs measured before count too" in again.output
    assert "12 pairs" in again.output
    project.commit(12.5)
    assert "attempt" not in project.on_request().output


def test_a_fatter_model_is_blocked(project: Any) -> None:
    project.change(12.5, 16800.0)
    result = project.on_request()
    assert result.code == 1
    assert "+5.0 %, 800 MiB" in result.output


def test_a_model_that_crashes_is_no_pass(project: Any) -> None:
    project.change(-1)
    result = project.on_request()
    assert result.code == 2
    assert "out of memory" in result.output


def test_main_records_and_a_request_passes_on_the_stored_baseline(project: Any) -> None:
    for _ in range(3):
        result = project.on_main()
        assert result.code == 0
        assert "recorded decode on main" in result.output
    project.change(12.5)
    result = project.on_request()
    assert result.code == 0
    assert "against the stored baseline" in result.output
    assert "baseline is the merge-base, 3 session(s)" in result.output
    assert project.gate("baseline", "list").output.count(".json") == 3


def test_the_stored_baseline_never_blocks(project: Any) -> None:
    for _ in range(3):
        project.on_main()
    project.change(13.5)
    git(project.folder, "rm", "-q", "--cached", ".gitignore")
    result = project.on_request()
    assert result.code == 1
    assert "interleaved with the merge-base" in result.output


@pytest.mark.parametrize(("policy", "code"), [("warn", 0), ("fail", 2), ("bootstrap", 0)])
def test_c09_policies_when_there_is_nothing_to_compare_with(project: Any, policy: str, code: int) -> None:
    config = project.folder / "perfgate.toml"
    config.write_text(config.read_text() + "", encoding="utf-8")
    text = config.read_text().replace(
        "[metrics.itl", f'[gate]\nmissing_baseline = "{policy}"\n[metrics.itl', 1
    )
    config.write_text(text, encoding="utf-8")
    git(project.folder, "checkout", "-q", "--orphan", "fresh")
    project.commit(12.5)
    result = project.on_request()
    assert result.code == code
    assert "no baseline for fingerprint" in result.output
    assert "no common commit with main" in result.output or "force-pushed" in result.output
    assert project.gate("baseline", "list").output == ""


def test_a_limit_that_moves_with_the_change_is_told(project: Any) -> None:
    git(project.folder, "checkout", "-q", "-b", "feature")
    config = project.folder / "perfgate.toml"
    waiver = '[[waiver]]\nmetric = "peak_vram_allocated"\nup_to = "8%"\nreason = "longer context"\n'
    waiver += "expires = 2999-01-01\n"
    config.write_text(config.read_text().replace('limit = "5%"', 'limit = "9%"') + waiver, encoding="utf-8")
    project.commit(13.3, 16800.0)
    result = project.on_request("--rules-from", "head")
    assert result.code == 0
    assert "limit of itl_median moved: gate 5 % -> gate 9 % in this change" in result.output
    assert "waiver added: peak_vram_allocated up to 8 % until 2999-01-01 (longer context)" in result.output


def test_a_store_that_is_down_does_not_stop_the_gate(project: Any) -> None:
    config = project.folder / "perfgate.toml"
    broken = project.folder / "taken"
    broken.write_text("a file where the store's folder should be", encoding="utf-8")
    lines = [
        f'url = "folder:{broken}/x"' if line.startswith("url") else line
        for line in config.read_text().splitlines()
    ]
    config.write_text("\n".join(lines), encoding="utf-8")
    project.change(12.5)
    assert project.on_request().code == 0


def test_a_second_configuration_fault_is_named_with_the_first(project: Any) -> None:
    config = project.folder / "perfgate.toml"
    config.write_text(
        '[[workload]]\nname = "a b"\nengine = "magic"\n[[workload]]\nengine = "command"\n', encoding="utf-8"
    )
    result = project.on_request()
    assert result.code == 2
    for where in ("workload[0].engine", "workload[0].name", "workload[1].name", "workload[1].command"):
        assert f"perfgate.toml: {where}" in result.output


def test_run_writes_a_session_that_compare_reads(project: Any) -> None:
    assert project.gate("run", "-n", "5", "-o", "one").code == 0
    assert project.gate("run", "-n", "5", "-o", "two").code == 0
    result = project.gate("compare", "one", "two")
    assert result.code == 0
    session = json.loads((project.folder / "one" / "decode.json").read_text())
    assert len(session["runs"]) == 5
    assert session["commit"] == git(project.folder, "rev-parse", "HEAD")


def test_a_decision_can_be_reported_again(project: Any) -> None:
    project.change(13.5)
    first = project.on_request()
    again = project.gate("report", "perfgate-report/decision.json", "--reports", "again")
    assert again.code == first.code == 1
    assert "FAIL: 1 of 2 gated metrics regressed" in again.output
    for name in ("report.md", "junit.xml", "metrics.txt", "report.html"):
        once, twice = (project.folder / folder / name for folder in ("perfgate-report", "again"))
        assert once.read_bytes() == twice.read_bytes(), name


def test_a_token_that_may_not_comment_changes_nothing(project: Any) -> None:
    project.change(13.5)
    result = project.on_request("--comment", "-w", "decode", CI_JOB_NAME="gpu job")
    assert result.code == 1
    assert "no comment: PERFGATE_GITLAB_TOKEN is not set" in result.output
    decision = json.loads((project.folder / "perfgate-report/decision.json").read_text(encoding="utf-8"))
    assert decision["key"] == "perfgate/gpu_job/decode"


def test_the_change_that_brings_the_gate_is_not_blocked(project: Any) -> None:
    git(project.folder, "checkout", "-q", "-b", "feature")
    git(project.folder, "branch", "-q", "-D", "main")
    git(project.folder, "rm", "-q", "--cached", "perfgate.toml")
    git(project.folder, "commit", "-q", "-m", "without the gate")
    git(project.folder, "branch", "-q", "main")
    project.commit(12.5)
    result = project.on_request()
    assert result.code == 0
    assert "has no perfgate.toml: this change brings the gate" in result.output


def test_a_shallow_clone_gets_the_base_that_the_forge_names(project: Any, tmp_path: Path) -> None:
    project.change(13.5)
    base = git(project.folder, "rev-parse", "main")
    shallow = tmp_path / "shallow"
    source = f"file://{project.folder}"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=feature", source, str(shallow))
    gate = replace(project.gate, folder=shallow)
    blind = gate("gate", GITLAB_CI="true", CI_MERGE_REQUEST_IID="7")
    assert blind.code == 2
    assert "the clone is shallow, so no merge-base with main is known: set fetch-depth" in blind.output
    told = gate("gate", GITLAB_CI="true", CI_MERGE_REQUEST_IID="7", CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert told.code == 1
    assert "FAIL: 1 of 2 gated metrics regressed" in told.output


def test_without_git_the_gate_says_so(project: Any, tmp_path: Path) -> None:
    result = project.on_request(PATH=str(tmp_path))
    assert result.code == 2
    assert "the gate needs git in the job's image" in result.output


def test_outside_of_a_repository_the_gate_says_so(gate: Any) -> None:
    gate.text(
        "perfgate.toml", '[[workload]]\nname = "w"\nengine = "command"\n[workload.command]\nargv = ["true"]\n'
    )
    result = gate("gate", GIT_CEILING_DIRECTORIES=str(gate.folder.parent))
    assert result.code == 2
    assert "run the gate in a checkout" in result.output


def test_a_removed_workload_is_told(project: Any) -> None:
    git(project.folder, "checkout", "-q", "-b", "feature")
    config = project.folder / "perfgate.toml"
    config.write_text(config.read_text().replace('name = "decode"', 'name = "other"'), encoding="utf-8")
    project.commit(12.5)
    assert "workload 'decode' is no longer measured" in project.on_request().output


def test_no_configuration_says_how_to_get_one(gate: Any) -> None:
    result = gate("gate")
    assert result.code == 2
    assert "shadow-perfgate init" in result.output
    assert list(gate.folder.iterdir()) == []
