"""The repository's own pipelines: least rights, pinned actions, one update of a stack at a time."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
HOW_TO = ROOT / "docs" / "how-to" / "preview-in-pull-requests.md"


def _load(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _snippets() -> dict[str, Any]:
    """The YAML templates of the how-to, by the file name in their first line."""
    blocks = re.findall(r"```yaml\n# (\S+)[^\n]*\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    return {name: yaml.safe_load(text) for name, text in blocks}


def _all_github() -> list[Any]:
    return [*map(_load, WORKFLOWS), _snippets()[".github/workflows/preview.yml"]]


def test_the_three_workflows_exist() -> None:
    assert [file.stem for file in WORKFLOWS] == ["ci", "deploy", "preview"]


@pytest.mark.parametrize("workflow", _all_github(), ids=lambda flow: flow["name"])
def test_rights_are_granted_by_job_and_as_few_as_possible(workflow: Any) -> None:
    assert workflow["permissions"] == {}
    allowed = {"contents": "read", "pull-requests": "write"}
    for job in workflow["jobs"].values():
        assert job["permissions"].items() <= allowed.items()
        if workflow["name"] != "preview":
            assert job["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("workflow", _all_github(), ids=lambda flow: flow["name"])
def test_actions_are_pinned_and_leave_no_credentials(workflow: Any) -> None:
    used = [step for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    for step in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
        if step["uses"].startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("workflow", _all_github(), ids=lambda flow: flow["name"])
def test_no_expression_reaches_a_shell(workflow: Any) -> None:
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")
        assert job["timeout-minutes"] <= 90


def test_secrets_never_meet_the_code_of_forks() -> None:
    for workflow in _all_github():
        assert "pull_request_target" not in workflow[True]
    preview = _load(ROOT / ".github" / "workflows" / "preview.yml")
    assert "head.repo.full_name == github.repository" in preview["jobs"]["preview"]["if"]
    rules = _load(ROOT / ".gitlab-ci.yml")["preview"]["rules"]
    assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID" in rules[0]["if"]


def test_updates_of_a_stack_wait_for_each_other_and_are_never_cut_off() -> None:
    deploy = _load(ROOT / ".github" / "workflows" / "deploy.yml")
    assert deploy["concurrency"] == {"group": "stack-${{ vars.PULUMI_STACK }}", "cancel-in-progress": False}
    up = _load(ROOT / ".gitlab-ci.yml")["up"]
    assert up["resource_group"] == "stack-$PULUMI_STACK"
    assert up["interruptible"] is False
    assert deploy[True]["push"]["branches"] == ["main"]


def test_zizmor_finds_nothing() -> None:
    zizmor = Path(sys.executable).parent / "zizmor"
    done = subprocess.run(
        [zizmor, "--offline", "--no-progress", "--quiet", ".github"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
