"""The article's merge request, end to end: simulated GitLab, stand-in runner, the example, the real gate.

The runner's docker runs scripts on this machine, which has no GPU: the plain Python decoder is measured.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gitlab
import pytest
from gitlab.v4.objects import Project, ProjectJob

from localcloud.gitlab.testing import PACKAGES, Server, wait_for

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "perfgate"
SHIM = ROOT / "tests" / "contract" / "gitlab" / "docker_shim.py"
DONE = {"success", "failed", "canceled"}
BENCHMARK = "tests/benchmark_inference.py"


@dataclass
class Runner:
    """The stand-in runner with `docker`, `nvidia-smi`, `pip` and the gate on its path."""

    home: Path
    server: Server
    process: "subprocess.Popen[bytes] | None" = None

    def program(self, name: str, script: str) -> None:
        file = self.home / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def start(self, token: str) -> None:
        self.program("docker", f'exec "{sys.executable}" -IS "{SHIM}" "{self.home}" "$@"')
        self.program("nvidia-smi", "echo none here")
        self.program("pip", "echo pip: already there")
        found = ROOT / "components" / "perfgate"
        self.program(
            "shadow-perfgate", f'PYTHONPATH="{found}" exec "{sys.executable}" -m shadow_perfgate "$@"'
        )
        config = self.home / "config.toml"
        config.write_text(
            f"check_interval = 1\n[[runners]]\n  name = 'gpu-01'\n  url = '{self.server.url}/'\n"
            f"  token = '{token}'\n"
            "  executor = 'docker'\n  [runners.docker]\n    image = 'local/none'\n    gpus = 'all'\n",
            encoding="utf-8",
        )
        program = PACKAGES / "localcloud" / "standins" / "gitlab-runner"
        command = [program, "run", "--config", config, "--working-directory", self.home / "work"]
        # The job must take the fault and lock files of no other test.
        env = {
            key: value for key, value in os.environ.items() if not key.startswith(("CI", "GITLAB", "GIT_"))
        }
        env |= {"PATH": f"{self.home / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(self.home)}
        with (self.home / "log").open("wb") as log:
            self.process = subprocess.Popen(list(map(str, command)), env=env, stdout=log, stderr=log)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    running.start()
    yield running
    running.kill()


@pytest.fixture
def runner(server: Server, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(tmp_path / "runner", server)
    made.home.mkdir()
    yield made
    if made.process is not None:
        made.process.kill()
        made.process.wait()


def files() -> dict[str, str]:
    """Return the example with fewer tokens and one look, so that it is quick."""
    found = {
        str(path.relative_to(EXAMPLE)): path.read_text(encoding="utf-8")
        for path in EXAMPLE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    short = 'missing_baseline = "bootstrap"\nlooks = [6]\nnoisy_looks = [6]\nstored_runs = 0'
    settings = found["perfgate.toml"].replace('missing_baseline = "bootstrap"', short)
    settings = settings.replace("decode-heavy", "few.jsonl")
    short = "output_tokens = 2\npasses = 1\nwarmup_most = 1"
    found["perfgate.toml"] = settings.replace("output_tokens = 16", short)
    return found | {"few.jsonl": '{"prompt": "one"}\n{"prompt": "two words"}\n'}


def finished(project: Project, name: str, sha: str) -> ProjectJob:
    def look() -> ProjectJob | None:
        jobs = [
            job for job in project.jobs.list(get_all=True) if job.name == name and job.commit["id"] == sha
        ]
        return jobs[0] if jobs and jobs[0].status in DONE else None

    found = wait_for(look)
    assert found is not None
    return found


def request(project: Project, branch: str, benchmark: str) -> str:
    """Open a merge request that changes the benchmark; return its commit."""
    change = {"action": "update", "file_path": BENCHMARK, "content": benchmark}
    made = project.commits.create(
        {"branch": branch, "start_branch": "main", "commit_message": branch, "actions": [change]}
    )
    project.mergerequests.create({"source_branch": branch, "target_branch": "main", "title": branch})
    return str(made.id)


@pytest.mark.slow
def test_a_merge_request_with_other_answers_is_blocked_and_one_without_change_is_not_a_regression(
    server: Server, runner: Runner
) -> None:
    contents = files()
    with gitlab.Gitlab(server.url, private_token=server.admin_token) as client:
        project = client.projects.get(server.seed(contents))
        runner.start(server.runner(project.id, tag_list=["shadow-gpu"]).token)
        benchmark = contents[BENCHMARK]
        wrong = finished(
            project,
            "perfgate",
            request(project, "other-answers", benchmark.replace("Random(7)", "Random(8)")),
        )
        trace = bytes(wrong.trace()).decode()
        assert wrong.status == "failed", trace
        assert "the candidate's output differs from base" in trace
        assert "VRAM was not measured" in trace
        report = wrong.artifact("perfgate-report/report.md")
        assert b"INVALID" in report
        same = finished(project, "perfgate", request(project, "comment", benchmark + "\n# the same model\n"))
        trace = bytes(same.trace()).decode()
        assert "the candidate's output differs" not in trace
        assert "perfgate PASS" in trace or "perfgate INCONCLUSIVE" in trace or "perfgate FAIL" in trace
