"""The real GitLab Runner takes jobs of the simulator with its shell executor, where the program is there."""

import os
import shutil
import subprocess
from pathlib import Path

import gitlab
import pytest

from localcloud.gitlab.testing import Server

PROGRAM = os.environ.get("REAL_GITLAB_RUNNER") or shutil.which("gitlab-runner") or ""
CI = """
build:
  stage: build
  script: [echo made > made.txt]
  artifacts: {paths: [made.txt], reports: {junit: made.txt}}
use:
  stage: test
  script: [cat made.txt, 'echo token=$API_KEY', 'git log -1 --format=%s']
  after_script: [echo after]
"""


@pytest.fixture(scope="module")
def program() -> str:
    """The real program; a stand-in is a script and says so by its first bytes."""
    if not PROGRAM or Path(PROGRAM).read_bytes()[:4] != b"\x7fELF":
        pytest.skip(
            "the real gitlab-runner is not installed; set REAL_GITLAB_RUNNER to its path to run this test"
        )
    return PROGRAM


def run(program: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CI_", "GITLAB_"))}
    return subprocess.run(
        [program, *words], cwd=folder, env=environment | {"HOME": str(folder)}, capture_output=True,
        text=True, check=False, timeout=300,
    )  # fmt: skip


def test_it_runs_a_pipeline_with_artifacts(
    server: Server, gl: gitlab.Gitlab, program: str, tmp_path: Path
) -> None:
    project = gl.projects.get(server.seed({".gitlab-ci.yml": CI}, pipeline=False))
    project.variables.create({"key": "API_KEY", "value": "planted-secret-value", "masked": True})
    project.pipelines.create({"ref": "main"})
    runner = server.runner(project.id)
    words = ["--url", server.url, "--token", runner.token, "--executor", "shell", "--max-builds", "2"]
    words += ["--builds-dir", str(tmp_path / "builds"), "--wait-timeout", "60"]
    result = run(program, tmp_path, "run-single", *words)
    jobs = {job.name: job for job in project.jobs.list(get_all=True)}
    texts = {name: str(job.trace()) for name, job in jobs.items()}
    assert {name: job.status for name, job in jobs.items()} == {"build": "success", "use": "success"}, (
        texts,
        result.stderr,
    )
    assert "token=[MASKED]" in texts["use"]
    assert "Initial commit" in texts["use"]
    assert jobs["build"].artifact("made.txt") == b"made\n"
