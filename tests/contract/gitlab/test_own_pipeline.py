"""The project's own pipeline, run on the simulated GitLab: one note, brought up to date; `pulumi up`."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gitlab
import pytest
from contract import own_pipelines
from gitlab.v4.objects import Project, ProjectJob

from localcloud.gitlab.testing import PACKAGES, Server, wait_for

SHIM = Path(__file__).with_name("docker_shim.py")
PIPELINE = ".gitlab-ci.yml"
DONE = {"success", "failed", "canceled", "skipped"}
WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


@dataclass(frozen=True, slots=True)
class Checkout:
    """A clone of the project."""

    folder: Path
    project: Project

    def git(self, *words: str) -> None:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
        done = subprocess.run(
            ["git", *WHO, *words], cwd=self.folder, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def push(self, branch: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755 if own_pipelines.executable(name) else 0o644)
        self.git("checkout", "-q", "-B", branch)
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "Change")
        self.git("push", "-q", "origin", branch)

    def ended(self, name: str, count: int = 1) -> tuple[str, str]:
        """Wait for the end of the `count`th job of a name; return its status and its log."""

        def look() -> ProjectJob | None:
            found = [job for job in self.project.jobs.list(get_all=True) if job.name == name]
            latest = max(found, key=lambda job: int(job.id), default=None)
            return latest if latest and len(found) == count and latest.status in DONE else None

        job = wait_for(look)
        assert job
        return str(job.status), bytes(job.trace()).decode()


@pytest.fixture
def checkout(server: Server, gl: gitlab.Gitlab, tmp_path: Path) -> Checkout:
    project = gl.projects.get(server.seed())
    address = f"http://oauth2:{server.admin_token}@127.0.0.1:{server.port}/{project.path_with_namespace}.git"
    made = Checkout(tmp_path, project)
    made.git("clone", "-q", address, "work")
    return Checkout(tmp_path / "work", project)


@pytest.fixture
def runner(server: Server, checkout: Checkout, tmp_path: Path) -> Iterator[None]:
    """A runner whose containers are shells on this machine."""
    home = tmp_path / "runner"
    (home / "bin").mkdir(parents=True)
    docker = home / "bin/docker"
    docker.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{SHIM}" "{home}" "$@"\n', encoding="utf-8")
    docker.chmod(0o755)
    token = server.runner(checkout.project.id, run_untagged=True).token
    (home / "config.toml").write_text(
        f"check_interval = 1\n[[runners]]\n  name = 'shell'\n  url = '{server.url}/'\n  token = '{token}'\n"
        "  executor = 'docker'\n  [runners.docker]\n    image = 'local/none'\n",
        encoding="utf-8",
    )
    words = ["run", "--config", home / "config.toml", "--working-directory", home / "work"]
    # Nothing of the CI that runs this test may reach the job.
    kept = {key: text for key, text in os.environ.items() if not key.startswith(("CI", "GITLAB", "PULUMI"))}
    kept |= {"PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    program = PACKAGES / "localcloud/standins/gitlab-runner"
    with (home / "log").open("wb") as log:
        process = subprocess.Popen([program, *map(str, words)], env=kept, stdout=log, stderr=log)
    yield
    process.kill()
    process.wait()


def test_main_is_deployed_and_a_merge_request_gets_one_note_which_the_next_push_brings_up_to_date(
    server: Server, checkout: Checkout, runner: None
) -> None:
    project = checkout.project
    token = server.user("preview-bot", ["api"], **{project.path_with_namespace: "reporter"})
    project.variables.create({"key": "PULUMI_STACK", "value": "dev"})
    project.variables.create({"key": "PREVIEW_GITLAB_TOKEN", "value": token, "masked": True})
    files = own_pipelines.files(PIPELINE)
    # The simulator does not know it; it belongs to the job that brings the stack up, which is not run here.
    files[PIPELINE] = re.sub(r"(?m)^ *resource_group:.*\n", "", files[PIPELINE])
    checkout.push("main", files)
    status, log = checkout.ended("up")
    assert status == "success", log
    assert "pulumi up --non-interactive --yes --skip-preview --refresh --suppress-outputs --stack dev" in log
    assert "--policy-pack tests/policy" in log
    checkout.push("topic", own_pipelines.planned("create"))
    made = project.mergerequests.create({"source_branch": "topic", "target_branch": "main", "title": "Scale"})
    request = project.mergerequests.get(made.get_id())
    status, log = checkout.ended("preview")
    assert status == "failed", log  # by a policy
    assert token not in log
    (first,) = [note for note in request.notes.list(get_all=True) if not note.system]
    assert "Preview of `acme/dev`: 10 created" in first.body, log
    assert first.author["username"] == "preview-bot"
    checkout.push("topic", own_pipelines.planned("destroy"))
    status, log = checkout.ended("preview", 2)
    assert status == "success", log
    (second,) = [note for note in request.notes.list(get_all=True) if not note.system]
    assert second.id == first.id, log
    assert "destroyed" in second.body
