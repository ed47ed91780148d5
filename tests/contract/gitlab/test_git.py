"""Git itself against the server: clone, push, refusals, and what a push sets off."""

import os
import subprocess
from pathlib import Path

import pytest
from gitlab.v4.objects import Project

from localcloud.gitlab.testing import Server

CI = "test:\n  script: [make test]\n"


def git(folder: Path, *arguments: str, fails: bool = False) -> str:
    environment = os.environ | {
        "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "Ada",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com", "GIT_COMMITTER_EMAIL": "ada@example.com",
    }  # fmt: skip
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert bool(done.returncode) is fails, done.stderr
    return done.stdout + done.stderr


def address(server: Server, project: Project, token: str, user: str = "oauth2") -> str:
    return f"http://{user}:{token}@127.0.0.1:{server.port}/{project.path_with_namespace}.git"


@pytest.fixture
def clone(server: Server, project: Project, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", address(server, project, server.admin_token), "work")
    return tmp_path / "work"


def commit(clone: Path, name: str, text: str, message: str = "Change") -> None:
    (clone / name).write_text(text)
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", message)


def test_a_push_with_a_ci_file_starts_a_pipeline(project: Project, clone: Path) -> None:
    commit(clone, ".gitlab-ci.yml", CI)
    git(clone, "push", "-q", "origin", "main")
    pipeline = project.pipelines.list(get_all=True)[0]
    assert (pipeline.source, pipeline.status, pipeline.ref) == ("push", "pending", "main")
    assert pipeline.sha == git(clone, "rev-parse", "HEAD").strip()


def test_skip_ci_makes_a_skipped_pipeline(project: Project, clone: Path) -> None:
    commit(clone, ".gitlab-ci.yml", CI, "Docs [skip ci]")
    git(clone, "push", "-q", "origin", "main")
    assert [item.status for item in project.pipelines.list(get_all=True)] == ["skipped"]


def test_two_branches_and_a_tag_in_one_push(project: Project, clone: Path) -> None:
    commit(clone, ".gitlab-ci.yml", CI)
    git(clone, "branch", "other")
    git(clone, "tag", "v1")
    git(clone, "push", "-q", "origin", "main", "other", "v1")
    assert sorted(item.ref for item in project.pipelines.list(get_all=True)) == ["main", "other", "v1"]


def test_a_large_push_arrives_whole(project: Project, clone: Path) -> None:
    content = os.urandom(3 * 1024 * 1024)
    (clone / "model.bin").write_bytes(content)
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "Model")
    git(clone, "push", "-q", "origin", "main")
    assert project.files.raw("model.bin", ref="main") == content


def test_wrong_and_missing_tokens_are_refused(server: Server, project: Project, tmp_path: Path) -> None:
    assert "Authentication failed" in git(
        tmp_path, "clone", address(server, project, "glpat-wrong"), "x", fails=True
    )
    url = f"{server.url}/{project.path_with_namespace}.git"
    assert "could not read Username" in git(tmp_path, "clone", url, "x", fails=True)


def test_a_reader_may_fetch_but_not_push(server: Server, project: Project, tmp_path: Path) -> None:
    token = server.user("git-reader", ["read_repository"], **{project.path_with_namespace: "reporter"})
    git(tmp_path, "clone", "-q", address(server, project, token), "work")
    commit(tmp_path / "work", "a", "1")
    assert "403" in git(tmp_path / "work", "push", "origin", "main", fails=True)


def test_a_developer_cannot_move_a_protected_branch(server: Server, project: Project, tmp_path: Path) -> None:
    token = server.user("git-dev", ["write_repository"], **{project.path_with_namespace: "developer"})
    git(tmp_path, "clone", "-q", address(server, project, token), "work")
    commit(tmp_path / "work", "a", "1")
    assert "rejected" in git(tmp_path / "work", "push", "origin", "main", fails=True)
    git(tmp_path / "work", "push", "-q", "origin", "main:topic")
    assert project.branches.get("topic").commit["title"] == "Change"


def test_a_public_project_is_cloned_without_a_token(server: Server, tmp_path: Path) -> None:
    project_id = server.seed(visibility="public")
    path = server.api("GET", f"/projects/{project_id}").json()["path_with_namespace"]
    git(tmp_path, "clone", "-q", f"{server.url}/{path}.git", "work")
    assert (tmp_path / "work" / "README.md").read_text() == "demo\n"


def test_a_push_survives_a_kill_right_after_it(own_server: Server, tmp_path: Path) -> None:
    project_id = own_server.seed()
    path = own_server.api("GET", f"/projects/{project_id}").json()["path_with_namespace"]
    git(
        tmp_path,
        "clone",
        "-q",
        f"http://u:{own_server.admin_token}@127.0.0.1:{own_server.port}/{path}.git",
        "work",
    )
    commit(tmp_path / "work", ".gitlab-ci.yml", CI)
    bare = own_server.home / "state" / "repositories" / f"{project_id}.git"
    own_server.kill()
    git(tmp_path / "work", "push", "-q", str(bare), "main")
    own_server.start()
    found = own_server.api("GET", f"/projects/{project_id}/pipelines").json()
    assert [item["status"] for item in found] == ["pending"]
