"""The GitLab component, the GitHub action and the article's example: read as their forges do, and run."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcloud.gitlab.ci.config import compile_file

ROOT = Path(__file__).parents[3]
WHEEL = "shadow-perfgate[gpu] @ https://packages.example/shadow_perfgate-1.0-py3-none-any.whl#sha256=ab"
EXAMPLE = ROOT / "examples" / "perfgate"
COMPONENT = (ROOT / "templates" / "perfgate.yml").read_text(encoding="utf-8")
ACTION: dict[str, Any] = yaml.safe_load(
    (ROOT / "actions" / "perfgate" / "action.yml").read_text(encoding="utf-8")
)


def no_files(path: str) -> bytes:
    raise FileNotFoundError(path)


def rendered(**given: object) -> bytes:
    """Return the component's jobs with its inputs filled in, as GitLab does."""
    header, _, body = COMPONENT.partition("\n---\n")
    inputs: dict[str, Any] = yaml.safe_load(header)["spec"]["inputs"]
    assert not given.keys() - inputs.keys()
    given = {"package": WHEEL, **given}
    values = {name: given[name] if name in given else spec["default"] for name, spec in inputs.items()}

    def filled(match: re.Match[str]) -> str:
        value = values[match[1]]
        return value if isinstance(value, str) else json.dumps(value)

    return re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", filled, body).encode()


def test_every_input_of_the_component_is_used() -> None:
    header, _, body = COMPONENT.partition("\n---\n")
    assert set(yaml.safe_load(header)["spec"]["inputs"]) == set(re.findall(r"inputs\.([\w-]+)", body))


@pytest.mark.parametrize(("undecided", "allowed"), [("warn", {"exit_codes": [3]}), ("block", False)])
def test_the_component_is_a_job_of_gitlab(undecided: str, allowed: object) -> None:
    text = rendered(undecided=undecided, tags=["gpu", "one"], **{"job-name": "speed"})
    (job,) = compile_file(text, no_files).jobs
    plain: dict[str, Any] = yaml.safe_load(text)
    assert job.name == "speed"
    assert plain["speed"]["tags"] == ["gpu", "one"]
    assert plain[plain["speed"]["extends"]]["allow_failure"] == allowed
    assert plain["speed"]["script"][-1].startswith('shadow-perfgate gate --config "$PERFGATE_CONFIG"')
    assert "--rules-from auto --reports" in plain["speed"]["script"][-1]


def test_nothing_is_installed_by_a_name_that_anybody_may_claim() -> None:
    header, _, _ = COMPONENT.partition("\n---\n")
    assert "default" not in yaml.safe_load(header)["spec"]["inputs"]["package"]
    example: dict[str, Any] = yaml.safe_load((EXAMPLE / ".gitlab-ci.yml").read_bytes())
    asked = example["perfgate"]["variables"]["PERFGATE_PACKAGE"]
    assert re.fullmatch(r"shadow-perfgate\[gpu\] @ https://\S+#sha256=\S+", asked)
    (step,) = [line for line in example["perfgate"]["script"] if line.startswith("pip install")]
    assert step.endswith('"$PERFGATE_PACKAGE"')


def test_the_examples_pipeline_is_the_articles_and_the_gate() -> None:
    jobs = {job.name for job in compile_file((EXAMPLE / ".gitlab-ci.yml").read_bytes(), no_files).jobs}
    assert jobs == {"test_inference", "perfgate"}


def gate_step(tmp_path: Path, code: int, **given: str) -> tuple[int, str, str, str]:
    """Run the action's gate step with a tool that ends with `code`; return what came of it."""
    # In the environment that the step before makes when Python is a distribution's.
    tool = tmp_path / "perfgate" / "bin" / "shadow-perfgate"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/arguments"\nexit {code}\n', encoding="utf-8")
    tool.chmod(0o755)
    step = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "gate")
    values = {name: spec["default"] for name, spec in ACTION["inputs"].items()} | given
    env = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text)
        for name, text in step["env"].items()
    }
    outputs = tmp_path / "outputs"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env=env | {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(outputs)},
        capture_output=True,
        text=True,
        check=False,
    )
    arguments = (tmp_path / "arguments").read_text(encoding="utf-8").strip()
    return done.returncode, done.stdout, outputs.read_text(encoding="utf-8").strip(), arguments


@pytest.mark.parametrize(
    ("code", "undecided", "wanted"),
    [(0, "warn", 0), (1, "warn", 1), (2, "warn", 2), (3, "warn", 0), (3, "block", 3)],
)
def test_the_action_ends_as_the_gate_says(tmp_path: Path, code: int, undecided: str, wanted: int) -> None:
    ended, output, outputs, _ = gate_step(tmp_path, code, undecided=undecided)
    assert ended == wanted
    assert outputs == f"exit-code={code}"
    assert ("::warning" in output) == (code == 3 and undecided == "warn")


def test_the_action_passes_its_inputs_without_a_shell_reading_them(tmp_path: Path) -> None:
    *_, arguments = gate_step(tmp_path, 0, config="a b.toml; touch x", comment="false")
    assert arguments == "gate --config a b.toml; touch x --reports perfgate-report --rules-from auto"
    steps = ACTION["runs"]["steps"]
    assert not [step["run"] for step in steps if "${{" in step["run"]]


def installed(tmp_path: Path, script: str, **env: str) -> str:
    """Return what a step that installs asks Python's pip for."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > "{tmp_path}/asked"\n', encoding="utf-8")
    python.chmod(0o755)
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    subprocess.run(argv, env=env | {"PATH": f"{python.parent}:{os.environ['PATH']}"}, check=True)
    asked = tmp_path / "asked"
    return asked.read_text(encoding="utf-8") if asked.exists() else ""


@pytest.mark.parametrize(
    ("package", "asked"),
    [
        ("", "/repo/actions/perfgate/../../components/perfgate[gpu]"),
        (WHEEL, WHEEL),
        ("./here[gpu]", "./here[gpu]"),
    ],
)
def test_the_action_installs_its_own_commit_or_what_it_is_told(
    tmp_path: Path, package: str, asked: str
) -> None:
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == "Install"]
    assert step["if"] == "inputs.package != 'none'"
    found = installed(tmp_path, step["run"], PACKAGE=package, GITHUB_ACTION_PATH="/repo/actions/perfgate")
    assert found == f"-m|pip|install|--quiet|{asked}|"
    assert (ROOT / "actions/perfgate/../../components/perfgate/pyproject.toml").is_file()


@pytest.mark.parametrize("managed", [True, False])
def test_the_action_leaves_an_externally_managed_python_alone(tmp_path: Path, managed: bool) -> None:
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == "Install"]
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    # Makes the environment's folder, so that its Python is found there like a real one.
    python.write_text(
        f"""#!/bin/sh
case "$*" in
    *EXTERNALLY-MANAGED*) echo {managed} ;;
    "-m venv --system-site-packages "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python3" ;;
    *) echo "$0 $*" >>"{tmp_path}/asked" ;;
esac
""",
        encoding="utf-8",
    )
    python.chmod(0o755)
    env = {
        "PATH": f"{python.parent}:{os.environ['PATH']}", "PACKAGE": WHEEL,
        "RUNNER_TEMP": str(tmp_path / "temp"),
    }  # fmt: skip
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], env=env, check=True
    )
    own = tmp_path / "temp" / "perfgate" / "bin"
    used = own if managed else python.parent
    assert (tmp_path / "asked").read_text(
        encoding="utf-8"
    ) == f"{used}/python3 -m pip install --quiet {WHEEL}\n"


@pytest.mark.parametrize("package", ["shadow-perfgate[gpu]", WHEEL, ""])
def test_the_component_installs_what_it_is_told(tmp_path: Path, package: str) -> None:
    job: dict[str, Any] = yaml.safe_load(rendered(package=package))["perfgate"]
    (step,) = [line for line in job["script"] if "pip install" in line]
    found = installed(tmp_path, step, PERFGATE_PACKAGE=job["variables"]["PERFGATE_PACKAGE"])
    assert found == (f"-m|pip|install|--quiet|{package}|" if package else "")


def run(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    # Nothing of the CI that runs this test may reach the gate.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CI", "GIT", "PERFGATE"))}
    found = os.pathsep.join([str(ROOT / "components" / "perfgate"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        argv, cwd=folder, env={**env, "PYTHONPATH": found}, capture_output=True, text=True, check=False
    )


def test_the_example_is_measured_on_a_machine_without_gpu(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for argv in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "Start")):
        assert run(folder, "git", *argv).returncode == 0
    figures = json.loads(run(folder, sys.executable, "tests/benchmark_inference.py").stdout)
    assert figures["latency_ms_per_token"] > 0
    done = run(folder, sys.executable, "-m", "shadow_perfgate", "run", "-n", "1")
    assert done.returncode == 0, done.stderr
    assert "VRAM was not measured" in done.stdout
    session = json.loads((folder / "perfgate-sessions" / "decode.json").read_text(encoding="utf-8"))
    (only,) = session["runs"]
    assert {"itl_median", "ttft_median", "output_tps"} <= only["metrics"].keys()
    assert not any(name.startswith("peak_vram") for name in only["metrics"])
    assert only["output_digest"]


@pytest.mark.parametrize("place", ["actions/perfgate", "examples/perfgate/.github"])
def test_a_security_scanner_finds_nothing(place: str) -> None:
    argv = [Path(sys.executable).with_name("zizmor"), "--offline", "--quiet", ROOT / place]
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
