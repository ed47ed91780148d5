"""The language hosts under the real engine: programs, options, component plugins and policy packs."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_machine import ROOT

pytestmark = pytest.mark.engine

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
VENV = ROOT / ".venv"
UP = "pulumi stack init -s dev && pulumi up --yes --skip-preview --non-interactive --suppress-progress"


def _project(folder: Path, runtime: str, program: str) -> Path:
    (folder / "Pulumi.yaml").write_text(f"name: tried\nruntime: {runtime}\n", encoding="utf-8")
    (folder / "__main__.py").write_text(program, encoding="utf-8")
    return folder


PROGRAM = """
import pulumi
config = pulumi.Config()
pulumi.export("facts", {
    "greeting": config.require("greeting"),
    "organization": pulumi.get_organization(),
    "project": pulumi.get_project(),
    "stack": pulumi.get_stack(),
    "dry_run": pulumi.runtime.is_dry_run(),
})
pulumi.export("token", config.require_secret("token"))
"""


def test_a_program_runs_in_the_named_environment_with_its_configuration(
    tmp_path: Path, engine_shell: Shell
) -> None:
    runtime = f"{{name: python, options: {{virtualenv: {VENV}, toolchain: pip}}}}"
    folder = _project(tmp_path, runtime, PROGRAM)
    done = engine_shell(
        "pulumi stack init -s dev && pulumi config set greeting hello"
        " && pulumi config set --secret token s3cret"
        " && pulumi up --yes --skip-preview --non-interactive >up.log && pulumi stack output --json",
        folder,
    )
    assert done.returncode == 0, done.stderr + (folder / "up.log").read_text(encoding="utf-8")
    assert json.loads(done.stdout) == {
        "facts": {
            "greeting": "hello",
            "organization": "organization",
            "project": "tried",
            "stack": "dev",
            "dry_run": False,
        },
        "token": "[secret]",
    }
    assert "warning" not in (folder / "up.log").read_text(encoding="utf-8")


def test_a_program_runs_in_the_activated_environment(tmp_path: Path, engine_shell: Shell) -> None:
    program = "import pulumi, sys\npulumi.export('prefix', sys.prefix)\n"
    folder = _project(tmp_path, "python", program)
    done = engine_shell(f"export PATH={VENV}/bin:$PATH; {UP} >&2; pulumi stack output prefix", folder)
    assert done.stdout.strip() == str(VENV), done.stderr


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import pulumi\nraise pulumi.RunError('told plainly')\n", "error: told plainly"),
        ("import sys\nsys.exit(7)\n", "program exited with non-zero exit code: 7"),
        ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
    ],
)
def test_a_failing_program_fails_the_command_with_its_message(
    tmp_path: Path, engine_shell: Shell, program: str, message: str
) -> None:
    folder = _project(tmp_path, f"{{name: python, options: {{virtualenv: {VENV}}}}}", program)
    done = engine_shell(UP, folder)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{toolchain: conda}", 'runtime.options.toolchain is "conda"; expected pip, poetry or uv'),
        ("{typechecker: pyre}", 'runtime.options.typechecker is "pyre"; expected mypy or pyright'),
        ("{virtualenv: 3}", "runtime.options.virtualenv is 3; expected a string"),
    ],
)
def test_a_wrong_option_is_named_with_its_choices(
    tmp_path: Path, engine_shell: Shell, options: str, message: str
) -> None:
    folder = _project(tmp_path, f"{{name: python, options: {options}}}", "import pulumi\n")
    done = engine_shell(UP, folder)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


COMPONENT = '''
from typing import Optional, TypedDict

import pulumi
from pulumi.provider.experimental import component_provider_host


class SquareArgs(TypedDict):
    side: pulumi.Input[int]
    """Length of a side."""


class Square(pulumi.ComponentResource):
    area: pulumi.Output[int]

    def __init__(self, name: str, args: SquareArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("shapes:index:Square", name, {}, opts)
        self.area = pulumi.Output.from_input(args["side"]).apply(lambda side: side * side)
        self.register_outputs({"area": self.area})


if __name__ == "__main__":
    component_provider_host(name="shapes", components=[Square])
'''


def test_a_component_folder_gives_its_schema_and_leaves_the_environment_alone(
    tmp_path: Path, engine_shell: Shell
) -> None:
    runtime = f"{{name: python, options: {{virtualenv: {VENV}, toolchain: pip}}}}"
    (tmp_path / "PulumiPlugin.yaml").write_text(f"runtime: {runtime}\n", encoding="utf-8")
    (tmp_path / "__main__.py").write_text(COMPONENT, encoding="utf-8")
    before = sorted(entry.name for entry in (VENV / "bin").iterdir())
    done = engine_shell("pulumi package get-schema .", tmp_path)
    assert done.returncode == 0, done.stderr
    square = json.loads(done.stdout)["resources"]["shapes:index:Square"]
    assert square["inputProperties"]["side"]["type"] == "integer"
    assert square["requiredInputs"] == ["side"]
    assert sorted(entry.name for entry in (VENV / "bin").iterdir()) == before


PACK = """
from pulumi_policy import EnforcementLevel, PolicyPack, StackValidationPolicy

def forbid(args, report):
    for resource in args.resources:
        if resource.resource_type == "pulumi:pulumi:Stack":
            report("no stacks today")

PolicyPack(name="strict", enforcement_level=EnforcementLevel.MANDATORY, policies=[
    StackValidationPolicy(name="no-stacks", description="Stacks are forbidden.", validate=forbid)])
"""


@pytest.mark.slow
def test_a_policy_pack_in_its_own_environment_blocks_a_preview(tmp_path: Path, engine_shell: Shell) -> None:
    pack, program = tmp_path / "pack", tmp_path / "program"
    pack.mkdir()
    program.mkdir()
    subprocess.run([sys.executable, "-m", "venv", pack / "venv"], check=True)
    packages = ["pulumi-policy==1.21.0", "protobuf<6"]
    subprocess.run(
        [pack / "venv" / "bin" / "pip", "install", "-q", *packages], check=True, capture_output=True
    )
    text = "runtime: {name: python, options: {virtualenv: venv, toolchain: pip}}\nversion: 1.0.0\n"
    (pack / "PulumiPolicy.yaml").write_text(text, encoding="utf-8")
    (pack / "__main__.py").write_text(PACK, encoding="utf-8")
    _project(program, f"{{name: python, options: {{virtualenv: {VENV}}}}}", "import pulumi\n")
    done = engine_shell(
        "pulumi stack init -s dev && pulumi preview --non-interactive --policy-pack ../pack", program
    )
    assert done.returncode != 0
    assert "no stacks today" in done.stdout + done.stderr
    assert "[mandatory]  no-stacks" in done.stdout + done.stderr
