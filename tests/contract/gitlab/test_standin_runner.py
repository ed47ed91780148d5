"""The stand-in `gitlab-runner` as a process, with a docker shim that runs scripts on this machine."""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gitlab
import pytest
from gitlab.v4.objects import Project, ProjectJob

from localcloud.gitlab.testing import PACKAGES, Server, wait_for

PROGRAM = PACKAGES / "localcloud" / "standins" / "gitlab-runner"
SHIM = Path(__file__).with_name("docker_shim.py")
DONE = {"success", "failed", "canceled"}


@dataclass
class Machine:
    """A machine with the runner on it."""

    home: Path
    server: Server
    process: subprocess.Popen[bytes] | None = None

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def log(self) -> str:
        return (self.home / "log").read_text()

    def environment(self) -> dict[str, str]:
        tools = self.home / "bin"
        tools.mkdir(exist_ok=True)
        docker = tools / "docker"
        docker.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{SHIM}" "{self.home}" "$@"\n')
        docker.chmod(0o755)
        return os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}

    def configure(self, token: str, docker: str = "", top: str = "", runner: str = "") -> None:
        self.config.write_text(
            f"check_interval = 1\n{top}\n[[runners]]\n  name = 'gpu-01'\n  url = '{self.server.url}/'\n"
            f"  token = '{token}'\n  executor = 'docker'\n{runner}\n  [runners.docker]\n"
            "    image = 'nvidia/cuda:12.1.0-base-ubuntu22.04'\n    gpus = 'all'\n    volumes = ['/cache']\n"
            f"{docker}\n"
        )

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(PROGRAM), words[0], "--config", str(self.config), *words[1:]],
            env=self.environment(), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def start(self) -> None:
        command = [
            str(PROGRAM),
            "run",
            "--config",
            str(self.config),
            "--working-directory",
            str(self.home / "work"),
        ]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(command, env=self.environment(), stdout=log, stderr=log)

    def stop(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def calls(self, name: str) -> list[list[str]]:
        lines = (self.home / "calls").read_text().splitlines()
        return [words for line in lines if (words := json.loads(line))[0] == name]


@pytest.fixture
def machine(server: Server, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, server)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def pipeline(server: Server, gl: gitlab.Gitlab, ci: str, **files: str) -> Project:
    return gl.projects.get(server.seed({".gitlab-ci.yml": ci} | files))


def finished(project: Project, name: str) -> ProjectJob:
    def look() -> ProjectJob | None:
        found = [job for job in project.jobs.list(get_all=True) if job.name == name]
        return found[0] if found and found[0].status in DONE else None

    found = wait_for(look)
    assert found is not None
    return found


def trace(project: Project, name: str) -> str:
    content: Any = finished(project, name).trace()
    return str(content.decode())


ARTICLE = """
test_inference:
  stage: test
  tags: [shadow-gpu]
  image: pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime
  script:
    - echo "GPU $NVIDIA_NAME seen"
    - cat tests/benchmark_inference.py
    - |
      if true; then
        echo several lines
      fi
"""


def test_the_article_s_job_is_green(server: Server, gl: gitlab.Gitlab, machine: Machine) -> None:
    project = pipeline(server, gl, ARTICLE, **{"tests/benchmark_inference.py": "print('12 ms/token')\n"})
    machine.configure(
        server.runner(project.id, tag_list=["shadow-gpu"]).token, runner="  environment = ['NVIDIA_NAME=RTX']"
    )
    machine.start()
    text = trace(project, "test_inference")
    assert finished(project, "test_inference").status == "success", text
    for words in (
        "Running with gitlab-runner", 'Preparing the "docker" executor', "Getting source from Git repository",
        "Using Docker executor with image pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime", "GPU RTX seen",
        "print('12 ms/token')", "several lines", "$ if true; then # collapsed multi-line command",
        "Job succeeded",
        "section_start:", "on gpu-01",
    ):  # fmt: skip
        assert words in text
    run = machine.calls("run")[0]
    assert run[run.index("--gpus") + 1] == "all"
    assert "--privileged" not in run
    assert any(word.endswith(":/cache") for word in run)


def test_secrets_are_masked_and_on_no_command_line(
    server: Server, gl: gitlab.Gitlab, machine: Machine
) -> None:
    secret = f"planted{secrets.token_hex(12)}"
    lines = ["echo token=$API_KEY", "echo job=$CI_JOB_TOKEN", "printf %s $HALF; sleep 0; echo $REST"]
    ci = f"show: {{script: {lines}}}\n"
    project = pipeline(server, gl, ci)
    for key, value in (("API_KEY", secret), ("HALF", secret[:9]), ("REST", secret[9:])):
        project.variables.create({"key": key, "value": value, "masked": key == "API_KEY"})
    for item in project.jobs.list(get_all=True):
        item.cancel()
    project.pipelines.create({"ref": "main"})
    runner = server.runner(project.id)
    machine.configure(runner.token)
    machine.start()
    text = trace(project, "show")
    assert "token=[MASKED]" in text
    assert "job=[MASKED]" in text
    assert secret not in text
    assert secret not in (machine.home / "calls").read_text()
    left = [
        path
        for path in (machine.home / "work").rglob("*")
        if path.is_file() and b"glcbt-" in path.read_bytes()
    ]
    assert left == []


def test_exit_code_after_script_and_artifacts_of_a_failure(
    server: Server, gl: gitlab.Gitlab, machine: Machine
) -> None:
    ci = """
broken:
  script: [echo result > out.txt, exit 7, echo never]
  after_script: [echo "status $CI_JOB_STATUS"]
  artifacts: {when: always, paths: [out.txt]}
"""
    project = pipeline(server, gl, ci)
    machine.configure(server.runner(project.id).token)
    machine.start()
    job = finished(project, "broken")
    text = trace(project, "broken")
    assert (job.status, job.failure_reason) == ("failed", "script_failure")
    assert "ERROR: Job failed: exit code 7" in text
    assert "status failed" in text
    assert "\nnever" not in text
    assert job.artifact("out.txt") == b"result\n"


def test_artifacts_reach_the_next_stage_and_caches_the_next_run(
    server: Server, gl: gitlab.Gitlab, machine: Machine
) -> None:
    ci = """
make: {stage: build, script: ['echo made > made.txt', 'mkdir -p .cache', 'date >> .cache/log'],
       artifacts: {paths: [made.txt]}, cache: {key: k, paths: [.cache/]}}
use: {stage: test, script: [cat made.txt, wc -l .cache/log], cache: {key: k, paths: [.cache/]}}
"""
    project = pipeline(server, gl, ci)
    machine.configure(server.runner(project.id).token)
    machine.start()
    text = trace(project, "use")
    assert "made" in text.split("$ cat made.txt")[1]
    assert "1 .cache/log" in text


def test_an_image_that_is_not_allowed_is_a_runner_failure(
    server: Server, gl: gitlab.Gitlab, machine: Machine
) -> None:
    project = pipeline(server, gl, "one: {script: [a], image: 'evil/image:1'}")
    machine.configure(server.runner(project.id).token, "    allowed_images = ['pytorch/*']")
    machine.start()
    text = trace(project, "one")
    assert 'The "evil/image:1" image is not present on list of allowed images' in text
    assert finished(project, "one").failure_reason in {"runner_system_failure", "runner_configuration_error"}


@pytest.mark.parametrize(
    ("image", "reason"),
    [("missing/image:1", "image_pull_failure"), ("broken/image:1", "runner_system_failure")],
)
def test_failures_of_the_daemon_are_not_the_script_s(
    server: Server, gl: gitlab.Gitlab, machine: Machine, image: str, reason: str
) -> None:
    project = pipeline(server, gl, f"one: {{script: [a], image: '{image}'}}")
    machine.configure(server.runner(project.id).token)
    machine.start()
    assert finished(project, "one").failure_reason == reason
    assert "Job failed (system failure)" in trace(project, "one")


LONG = "one: {script: ['echo begun', 'sleep 300']}"


def begun(project: Project) -> bool:
    jobs = project.jobs.list(scope=["running"], get_all=True)
    return bool(jobs) and b"\nbegun" in jobs[0].trace()


def test_cancel_stops_the_script(server: Server, gl: gitlab.Gitlab, machine: Machine) -> None:
    project = pipeline(server, gl, LONG)
    machine.configure(server.runner(project.id).token)
    machine.start()
    wait_for(lambda: begun(project))
    project.jobs.list(get_all=True)[0].cancel()
    assert finished(project, "one").status == "canceled"
    wait_for(lambda: "job_canceled" in machine.log)


def test_term_aborts_the_job_as_a_runner_failure(server: Server, gl: gitlab.Gitlab, machine: Machine) -> None:
    project = pipeline(server, gl, LONG)
    machine.configure(server.runner(project.id).token)
    machine.start()
    wait_for(lambda: begun(project))
    assert machine.stop(signal.SIGTERM) == 0
    job = finished(project, "one")
    assert (job.status, job.failure_reason) == ("failed", "runner_system_failure")
    assert "aborted: terminated" in trace(project, "one")


def test_quit_lets_the_job_end(server: Server, gl: gitlab.Gitlab, machine: Machine) -> None:
    gate = machine.home / "gate"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    ci = f"one: {{script: ['echo begun', '{wait}']}}\ntwo: {{script: [a], stage: deploy}}"
    project = pipeline(server, gl, ci)
    machine.configure(server.runner(project.id).token)
    machine.start()
    wait_for(lambda: begun(project))
    assert machine.process is not None
    machine.process.send_signal(signal.SIGQUIT)
    wait_for(lambda: "waiting for running jobs" in machine.log)
    gate.touch()
    assert machine.process.wait(timeout=60) == 0
    assert finished(project, "one").status == "success"
    assert [job.name for job in project.jobs.list(scope=["pending"], get_all=True)] == ["two"]


def test_a_change_of_the_configuration_is_taken_up(
    server: Server, gl: gitlab.Gitlab, machine: Machine
) -> None:
    project = pipeline(server, gl, "one: {script: [echo hi]}")
    machine.config.write_text("check_interval = 1\n")
    machine.start()
    wait_for(lambda: "Configuration loaded" in machine.log)
    machine.configure(server.runner(project.id).token)
    assert finished(project, "one").status == "success"


def test_two_jobs_at_once_with_concurrent(server: Server, gl: gitlab.Gitlab, machine: Machine) -> None:
    ci = "one: {script: ['echo begun', 'sleep 300'], parallel: 2}"
    project = pipeline(server, gl, ci)
    machine.configure(server.runner(project.id).token, top="concurrent = 2")
    machine.start()
    wait_for(lambda: len(project.jobs.list(scope=["running"], get_all=True)) == 2)


@pytest.mark.parametrize(
    ("docker", "words"),
    [
        ("    memory = 5", '(last key "runners.docker.memory"): incompatible types'),
        ("    privileged = 'no'", "destination has type bool"),
    ],
)
def test_wrong_types_are_refused(server: Server, machine: Machine, docker: str, words: str) -> None:
    machine.configure("glrt-x", docker)
    result = machine.command("run")
    assert result.returncode == 1
    assert words in result.stderr


def test_gpus_must_be_a_string(server: Server, machine: Machine) -> None:
    machine.config.write_text("[[runners]]\n[runners.docker]\ngpus = ['all']\n")
    result = machine.command("run")
    assert result.returncode == 1
    assert '(last key "runners.docker.gpus"): incompatible types' in result.stderr
    assert "destination has type string" in result.stderr


def test_register_verify_list_unregister(server: Server, project: Project, machine: Machine) -> None:
    runner = server.runner(project.id)
    words: tuple[str, ...] = (
        "--non-interactive",
        "--url",
        server.url,
        "--token",
        runner.token,
        "--executor",
        "docker",
    )
    words += ("--docker-image", "alpine", "--docker-gpus", "all", "--name", "reg")
    refused = machine.command("register", *words, "--tag-list", "a,b")
    assert refused.returncode == 1
    assert "reserved" in refused.stderr
    assert machine.command("register", *words).returncode == 0
    assert machine.config.stat().st_mode & 0o777 == 0o600
    assert "is valid" in machine.command("verify").stderr
    assert "reg" in machine.command("list").stderr
    assert runner.token not in machine.command("list").stderr
    assert machine.command("unregister", "--all-runners").returncode == 0
    assert "[[runners]]" not in machine.config.read_text()


def test_registration_tokens_are_refused(server: Server, machine: Machine) -> None:
    result = machine.command(
        "register", "--url", server.url, "--registration-token", "GR13", "--executor", "docker"
    )
    assert result.returncode == 1
    assert "410 Gone" in result.stderr


def test_a_removed_runner_is_told(server: Server, machine: Machine) -> None:
    machine.configure("glrt-gone")
    assert machine.command("verify").returncode == 1
    machine.start()
    wait_for(lambda: "is unhealthy and will be disabled" in machine.log)
    assert "forbidden" in machine.log


def test_run_single_takes_one_job_and_ends(server: Server, gl: gitlab.Gitlab, machine: Machine) -> None:
    project = pipeline(server, gl, "one: {script: [echo hi], parallel: 2}")
    words = ["--url", server.url, "--token", server.runner(project.id).token, "--executor", "docker"]
    words += [
        "--docker-image",
        "alpine",
        "--max-builds",
        "1",
        "--working-directory",
        str(machine.home / "work"),
    ]
    assert machine.command("run-single", *words).returncode == 0
    assert sorted(job.status for job in project.jobs.list(get_all=True)) == ["pending", "success"]
