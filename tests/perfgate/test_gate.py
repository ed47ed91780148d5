"""The gate from configuration to verdict: real processes, a real git repository, a benchmark command."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

BENCH = """
import json, pathlib, sys
counter = pathlib.Path({counter!r})
number = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(number + 1))
# Noise of +-1 %, the same for every test, in an order that pairs do not share.
noise = [0.2, -0.7, 0.4, -0.1, 0.9, -0.5, 0.1, -0.9, 0.6, -0.3, 0.0, -0.2, 0.8, -0.6, 0.3][number % 15]
speed, vram = json.loads(pathlib.Path("speed.json").read_text())
if speed < 0:
    sys.exit("out of memory")
print(json.dumps({{"itl_median": speed * (1 + noise / 100), "peak_vram_allocated": vram}}))
"""
CONFIG = """
project = "acme/llm"
[metrics.itl_median]
limit = "5%"
[metrics.peak_vram_allocated]
limit = "1%"
[store]
url = "folder:{store}"
[[workload]]
name = "decode"
engine = "command"
[workload.command]
argv = ["{python}", "-I", "-S", "bench.py"]
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


class Project:
    """A repository with a benchmark, on which commits change the speed."""

    def __init__(self, gate: Any, tmp_path: Path) -> None:
        self.gate = gate
        self.folder: Path = gate.folder
        self.folder.mkdir(exist_ok=True)
        git(self.folder, "init", "-q", "-b", "main")
        gate.text("bench.py", BENCH.format(counter=str(tmp_path / "counter")))
        gate.text("perfgate.toml", CONFIG.format(store=tmp_path / "store", python=sys.executable))
        gate.text(".gitignore", "perfgate-report/\n")
        self.commit(12.5)

    def commit(self, speed: float, vram: float = 16000.0) -> None:
        """Commit a model of that speed (ms per token) and memory (MiB)."""
        self.gate.text("speed.json", json.dumps([speed, vram]))
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", f"{speed} ms, {vram} MiB")

    def on_main(self) -> Any:
        """Run the pipeline of main."""
        return self.gate("gate", GITLAB_CI="true", CI_COMMIT_BRANCH="main", CI_PROJECT_PATH="acme/llm")

    def on_request(self, *arguments: str, **environment: str) -> Any:
        """Run the pipeline of merge request 7."""
        return self.gate(
            "gate",
            *arguments,
            GITLAB_CI="true",
            CI_MERGE_REQUEST_IID="7",
            CI_PROJECT_PATH="acme/llm",
            **environment,
        )

    def change(self, speed: float, vram: float = 16000.0) -> None:
        """Open a merge request with a model of that speed."""
        git(self.folder, "checkout", "-q", "-b", "feature")
        self.commit(speed, vram)


@pytest.fixture
def project(gate: Any, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(gate, tmp_path_factory.mktemp("state"))


def test_c09_without_a_baseline_pairs_decide(project: Project) -> None:
    project.change(12.5)
    result = project.on_request()
    assert result.code == 0
    assert "no baseline: no sessions of main are stored" in result.output
    assert "interleaved with the merge-base on this machine, looks after 6 pairs" in result.output


def test_a_slower_model_is_blocked(project: Project) -> None:
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


def test_a_fatter_model_is_blocked(project: Project) -> None:
    project.change(12.5, 16800.0)
    result = project.on_request()
    assert result.code == 1
    assert "+5.0 %, 800 MiB" in result.output


def test_a_model_that_crashes_is_no_pass(project: Project) -> None:
    project.change(-1)
    result = project.on_request()
    assert result.code == 2
    assert "out of memory" in result.output


def test_main_records_and_a_request_passes_on_the_stored_baseline(project: Project) -> None:
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


def test_the_stored_baseline_never_blocks(project: Project) -> None:
    for _ in range(3):
        project.on_main()
    project.change(13.5)
    git(project.folder, "rm", "-q", "--cached", ".gitignore")
    result = project.on_request()
    assert result.code == 1
    assert "interleaved with the merge-base" in result.output


@pytest.mark.parametrize(("policy", "code"), [("warn", 0), ("fail", 2), ("bootstrap", 0)])
def test_c09_policies_when_there_is_nothing_to_compare_with(project: Project, policy: str, code: int) -> None:
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


def test_a_limit_that_moves_with_the_change_is_told(project: Project) -> None:
    git(project.folder, "checkout", "-q", "-b", "feature")
    config = project.folder / "perfgate.toml"
    waiver = '[[waiver]]\nmetric = "peak_vram_allocated"\nup_to = "8%"\nreason = "longer context"\n'
    waiver += "expires = 2999-01-01\n"
    config.write_text(config.read_text().replace('limit = "5%"', 'limit = "9%"') + waiver, encoding="utf-8")
    project.commit(13.3, 16800.0)
    result = project.on_request()
    assert result.code == 0
    assert "limit of itl_median moved: gate 5 % -> gate 9 % in this change" in result.output
    assert "waiver added: peak_vram_allocated up to 8 % until 2999-01-01 (longer context)" in result.output


def test_a_store_that_is_down_does_not_stop_the_gate(project: Project) -> None:
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


def test_a_second_configuration_fault_is_named_with_the_first(project: Project) -> None:
    config = project.folder / "perfgate.toml"
    config.write_text(
        '[[workload]]\nname = "a b"\nengine = "magic"\n[[workload]]\nengine = "command"\n', encoding="utf-8"
    )
    result = project.on_request()
    assert result.code == 2
    for where in ("workload[0].engine", "workload[0].name", "workload[1].name", "workload[1].command"):
        assert f"perfgate.toml: {where}" in result.output


def test_run_writes_a_session_that_compare_reads(project: Project) -> None:
    assert project.gate("run", "-n", "5", "-o", "one").code == 0
    assert project.gate("run", "-n", "5", "-o", "two").code == 0
    result = project.gate("compare", "one", "two")
    assert result.code == 0
    session = json.loads((project.folder / "one" / "decode.json").read_text())
    assert len(session["runs"]) == 5
    assert session["commit"] == git(project.folder, "rev-parse", "HEAD")


def test_a_decision_can_be_reported_again(project: Project) -> None:
    project.change(13.5)
    first = project.on_request()
    again = project.gate("report", "perfgate-report/decision.json", "--reports", "again")
    assert again.code == first.code == 1
    assert "FAIL: 1 of 2 gated metrics regressed" in again.output
    for name in ("report.md", "junit.xml", "metrics.txt", "report.html"):
        once, twice = (project.folder / folder / name for folder in ("perfgate-report", "again"))
        assert once.read_bytes() == twice.read_bytes(), name


def test_a_token_that_may_not_comment_changes_nothing(project: Project) -> None:
    project.change(13.5)
    result = project.on_request("--comment")
    assert result.code == 1
    assert "no comment: PERFGATE_GITLAB_TOKEN is not set" in result.output


def test_the_change_that_brings_the_gate_is_not_blocked(project: Project) -> None:
    git(project.folder, "checkout", "-q", "-b", "feature")
    git(project.folder, "branch", "-q", "-D", "main")
    git(project.folder, "rm", "-q", "--cached", "perfgate.toml")
    git(project.folder, "commit", "-q", "-m", "without the gate")
    git(project.folder, "branch", "-q", "main")
    project.commit(12.5)
    result = project.on_request()
    assert result.code == 0
    assert "has no perfgate.toml: this change brings the gate" in result.output


def test_a_shallow_clone_gets_the_base_that_the_forge_names(project: Project, tmp_path: Path) -> None:
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


def test_without_git_the_gate_says_so(project: Project, tmp_path: Path) -> None:
    result = project.on_request(PATH=str(tmp_path))
    assert result.code == 2
    assert "the gate needs git in the job's image" in result.output


def test_outside_of_a_repository_the_gate_says_so(gate: Any) -> None:
    gate.text("perfgate.toml", CONFIG.format(store="x", python=sys.executable))
    result = gate("gate", GIT_CEILING_DIRECTORIES=str(gate.folder.parent))
    assert result.code == 2
    assert "run the gate in a checkout" in result.output


def test_a_removed_workload_is_told(project: Project) -> None:
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
