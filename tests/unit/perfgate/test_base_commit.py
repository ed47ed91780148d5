"""Which commit the forge's variables lead to, in the clones that its jobs make."""

import json
import subprocess
from pathlib import Path

import pytest

from shadow_perfgate import ci
from shadow_perfgate.config import Config
from shadow_perfgate.gate.base import ancestry_of, is_main, usable


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """Make a repository in which main went on after a feature left it, with the forge's merge of both."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "perfgate.toml").write_text("", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "left")
    git(folder, "checkout", "-q", "-b", "feature")
    git(folder, "commit", "-q", "--allow-empty", "-m", "change")
    git(folder, "checkout", "-q", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "went on")
    git(folder, "checkout", "-q", "-b", "merge")
    git(folder, "merge", "-q", "--no-ff", "-m", "merge", "feature")
    return folder


def github(place: Path, head: str, base: str) -> ci.Job:
    event = place / "event.json"
    pull = {"number": 7, "head": {"sha": head}, "base": {"sha": base}}
    event.write_text(json.dumps({"pull_request": pull}), encoding="utf-8")
    return ci.detect({"GITHUB_ACTIONS": "1", "GITHUB_EVENT_PATH": str(event), "GITHUB_BASE_REF": "main"})


def base_of(folder: Path, job: ci.Job) -> str:
    config = Config(folder / "perfgate.toml")
    return usable(ancestry_of(config, folder, job), folder, config, job).merge_base


def test_a_merge_made_by_the_forge_is_compared_with_its_target(merged: Path, tmp_path: Path) -> None:
    tip, head = git(merged, "rev-parse", "main"), git(merged, "rev-parse", "feature")
    left = git(merged, "merge-base", "main", "feature")
    said = {"GITLAB_CI": "1", "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_DIFF_BASE_SHA": left}
    assert base_of(merged, github(tmp_path, head, left)) == tip
    assert base_of(merged, ci.detect({**said, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": head})) == tip
    assert base_of(merged, ci.detect(said)) == left
    git(merged, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=merge", f"file://{merged}", "shallow")
    assert base_of(tmp_path / "shallow", github(tmp_path, head, tip)) == tip


def test_a_tag_called_main_is_not_main(merged: Path) -> None:
    config = Config(merged / "perfgate.toml")
    said = {"GITHUB_ACTIONS": "1", "GITHUB_REF_NAME": "main"}
    assert not is_main(config, merged, ci.detect({**said, "GITHUB_REF_TYPE": "tag"}))
    assert is_main(config, merged, ci.detect({**said, "GITHUB_REF_TYPE": "branch"}))
