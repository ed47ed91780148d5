"""Every example declares its resources with the configuration that its Pulumi.yaml gives by default."""

import json
import runpy
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import set_all_config

import shadow_gpu_runners
from localcloud.github import workflow_files
from localcloud.gitlab.ci.config import compile_file
from shadow_gpu_runners.testing import Invocation, Recording, Registration, record

EXAMPLES = Path(__file__).parents[3] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*/__main__.py"))
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
RUN_BY = {
    "article": "localcloud/quickstart/project.py",
    "fresh-vm": "localcloud/quickstart/fresh.py",
    "perfgate": "contract/perfgate/test_article_pipeline.py",
    "typescript": "stack/test_other_languages.py",
    "yaml": "stack/test_other_languages.py",
}
"""What runs the examples that are no Python programs, below tests/."""


def answer(call: Invocation) -> Mapping[str, Any]:
    return {"id": "7", "name": call.args.get("name", "one"), "repoId": 7}


def computed(resource: Registration) -> Mapping[str, Any]:
    if resource.type.endswith(":UserRunner"):
        return {"id": "42", "token": "glrt-planted-0123456789"}
    return {"allFixedIps": ["10.20.0.7"]} if resource.type.endswith(":Port") else {}


@cache
def run(program: Path) -> Recording:
    project = yaml.safe_load((program.parent / "Pulumi.yaml").read_text(encoding="utf-8"))
    values: dict[str, str] = {}
    for key, option in project.get("config", {}).items():
        default = option.get("default", "planted-0123456789abcdef" if option.get("secret") else None)
        values[f"{project['name']}:{key}"] = default if isinstance(default, str) else json.dumps(default)
    set_all_config(values, [key for key, value in values.items() if value.startswith("planted")])
    return record(
        lambda: runpy.run_path(str(program)) and None,
        project=project["name"],
        answer=answer,
        outputs=computed,
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.parent.name)
def test_it_declares_a_component_on_a_provider_of_its_own(program: Path) -> None:
    found = run(program).resources
    assert [known for known in found if known.type.startswith("shadow-gpu-runners:index:")]
    assert not [
        known.name for known in found if known.custom and not (known.provider or "provider" in known.type)
    ]


def test_each_component_is_shown_by_a_program_of_its_name() -> None:
    components = {
        name
        for name in shadow_gpu_runners.__all__
        if issubclass(getattr(shadow_gpu_runners, name), pulumi.ComponentResource)
    }
    shown = {
        known.type.rpartition(":")[2]
        for program in PROGRAMS
        for known in run(program).resources
        if known.type.startswith("shadow-gpu-runners:index:")
        and known.type.rpartition(":")[2].lower() == program.parent.name.replace("-", "")
    }
    assert shown == components


def test_every_example_is_run_by_a_test() -> None:
    programs = {program.parent.name for program in PROGRAMS}
    assert {folder.name for folder in FOLDERS} == programs | RUN_BY.keys()
    for name, file in RUN_BY.items():
        assert f'"{name}"' in (EXAMPLES.parent / "tests" / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_example_says_what_it_is_and_what_must_be_set(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert f"({folder.name}/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
    project = folder / "Pulumi.yaml"
    config = yaml.safe_load(project.read_text(encoding="utf-8")).get("config", {}) if project.exists() else {}
    needed = [key for key, option in config.items() if "default" not in option]
    assert [key for key in needed if f"config set --secret {key} " not in text] == []


def test_a_security_scanner_finds_nothing_in_their_workflows() -> None:
    command = [Path(sys.executable).with_name("zizmor"), "--offline", "--quiet", EXAMPLES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["article", "fresh-vm", "perfgate"])
def test_pipelines_and_workflows_are_read_as_their_forges_do(name: str) -> None:
    pipeline = compile_file((EXAMPLES / name / ".gitlab-ci.yml").read_bytes(), lambda path: path.encode())
    assert [job for job in pipeline.jobs if job.name in {"inference", "test_inference"}]
    for file in (EXAMPLES / name).glob(".github/workflows/*.yml"):
        assert workflow_files.parse(file.read_text(encoding="utf-8"))["jobs"]
