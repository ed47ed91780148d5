"""`init` writes a configuration and a pipeline that work as they are."""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shadow_perfgate.cli.workspace import read_plans
from shadow_perfgate.config import load


@pytest.fixture
def repository(gate: Any) -> Path:
    folder: Path = gate.folder
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["remote", "add", "origin", "git@gitlab.com:acme/llm.git"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("engine", ["command", "transformers", "openai", "callable"])
def test_every_engine_gives_a_configuration_that_is_read(gate: Any, repository: Path, engine: str) -> None:
    result = gate("init", "--engine", engine)
    assert result.code == 0
    table = tomllib.loads((repository / "perfgate.toml").read_text())
    assert table["project"] == "acme/llm"
    assert {plan.engine for plan in read_plans(load(repository / "perfgate.toml"))} == {engine}


def test_the_pipeline_blocks_on_regressions_and_keeps_reports(gate: Any, repository: Path) -> None:
    gate("init")
    job = yaml.safe_load((repository / ".gitlab/perfgate.yml").read_text())["perfgate"]
    assert job["tags"] == ["shadow-gpu"]
    assert job["allow_failure"] == {"exit_codes": [3]}
    assert job["artifacts"]["when"] == "always"
    assert gate("init", "--forge", "github").code == 0
    workflow = yaml.safe_load((repository / ".github/workflows/perfgate.yml").read_text())
    steps = workflow["jobs"]["perfgate"]["steps"]
    [step] = [step for step in steps if "gate" in step.get("run", "").split()]
    assert step["run"] == "shadow-perfgate gate --comment || [ $? = 3 ]"
    assert step["env"] == {"GITHUB_TOKEN": "${{ github.token }}"}


def test_the_pipeline_installs_what_it_is_told(gate: Any, repository: Path) -> None:
    wheel = "shadow-perfgate[gpu] @ https://packages.example/shadow_perfgate-1.whl#sha256=ab"
    assert gate("init", "--package", wheel).code == 0
    job = yaml.safe_load((repository / ".gitlab/perfgate.yml").read_text())["perfgate"]
    assert f'pip install "{wheel}"' in job["script"]
    result = gate("init", "--forge", "github", "--package", 'x"; rm -rf /')
    assert result.code == 2
    assert "--package: got" in result.output
    assert not (repository / ".github").exists()


@pytest.mark.parametrize("forge", ["gitlab", "github"])
def test_without_a_package_nothing_of_an_index_is_installed(gate: Any, repository: Path, forge: str) -> None:
    result = gate("init", "--forge", forge)
    assert "--package was not given" in result.output
    place = {"gitlab": ".gitlab/perfgate.yml", "github": ".github/workflows/perfgate.yml"}[forge]
    assert f"replace HOST, GROUP and COMMIT in {place}" in result.output
    [asked] = re.findall(r'pip install "(.*)"', (repository / place).read_text())
    assert " @ git+https://HOST/" in asked
    assert "--package was not given" not in gate("init", "--package", "shadow-perfgate[gpu]==0.1.0").output


def test_existing_files_are_left_alone(gate: Any, repository: Path) -> None:
    (repository / "perfgate.toml").write_text("# mine\n")
    assert "left as it is: perfgate.toml" in gate("init").output
    assert (repository / "perfgate.toml").read_text() == "# mine\n"


def test_the_articles_benchmark_runs_as_it_is(gate: Any, repository: Path) -> None:
    gate("init")
    gate.text(
        "tests/benchmark_inference.py", 'print(\'{"itl_median": 12.5, "peak_vram_allocated": 15872}\')\n'
    )
    result = gate("run", "-n", "1")
    assert result.code == 0
    session = json.loads((repository / "perfgate-sessions/inference.json").read_text())
    assert session["runs"][0]["metrics"]["itl_median"] == 12.5


def test_results_of_another_tool_become_sessions(gate: Any, runs: Callable[..., Any]) -> None:
    del runs
    row = {"model_filename": "m.gguf", "model_type": "llama 1B", "n_prompt": 0, "n_gen": 128, "n_depth": 0}
    files = [
        gate.text(
            f"bench{n}.json",
            json.dumps([{**row, "avg_ts": 100.0 + n, "samples_ts": [100.0 + n], "avg_ns": 1e9}]),
        )
        for n in range(5)
    ]
    result = gate("import", *files)
    assert result.code == 0, result.output
    assert "5 run(s)" in result.output
    assert gate("import", "--format", "magic", files[0]).code == 2


def test_the_main_branch_is_the_one_that_is_there(gate: Any) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=gate.folder, check=True)
    assert gate("init", "--forge", "github").code == 0
    assert load(gate.folder / "perfgate.toml").main == "trunk"
    workflow = yaml.safe_load((gate.folder / ".github/workflows/perfgate.yml").read_text())
    assert workflow[True]["push"]["branches"] == ["trunk"]


def test_odd_names_give_files_that_are_read(gate: Any, tmp_path: Path) -> None:
    odd = tmp_path / 'we"ird \\ é'
    odd.mkdir()
    assert type(gate)(odd)("init").code == 0
    assert load(odd / "perfgate.toml").project == odd.name
    for package in ("x: y", "x # z"):
        assert "--package: got" in gate("init", "--package", package).output
