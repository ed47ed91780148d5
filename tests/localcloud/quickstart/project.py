"""The article's project: made on the simulated GitLab, pushed with real git."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import gitlab
from gitlab.exceptions import GitlabGetError
from gitlab.v4.objects import Project

from localcloud.paths import repository
from localcloud.world import World

GROUP, NAME = "acme", "inference"
SOURCE = repository() / "examples" / "article"
# git asks this helper for the password, so that no token stands in a command line or in .git/config.
_CREDENTIALS = '!f() { echo username=oauth2; echo "password=$GITLAB_TOKEN"; }; f'


def ensure(world: World) -> Project:
    """Return the GitLab project `acme/inference`; made where it is missing."""
    client = gitlab.Gitlab(world.gitlab_url, private_token=world.gitlab_token)
    try:
        return client.projects.get(f"{GROUP}/{NAME}")
    except GitlabGetError as error:
        if error.response_code != 404:
            raise
    groups = [group for group in client.groups.list(get_all=True) if group.full_path == GROUP]
    group = groups[0] if groups else client.groups.create({"name": GROUP, "path": GROUP})
    made = client.projects.create({"name": NAME, "path": NAME, "namespace_id": group.id})
    return client.projects.get(made.id)


def push(world: World, source: Path = SOURCE, branch: str = "main", group: str = GROUP) -> str:
    """Commit the files of `source`, the article's, and push them to a branch; return the new commit's SHA."""
    with tempfile.TemporaryDirectory(prefix="article-") as folder:
        checkout = Path(folder) / NAME
        url = f"{world.gitlab_url}/{group}/{NAME}.git"
        _git(world, Path(folder), "clone", "-q", url, NAME)
        shutil.copytree(source, checkout, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        _git(world, checkout, "checkout", "-q", "-B", branch)
        _git(world, checkout, "add", "--all")
        _git(world, checkout, "commit", "-q", "--allow-empty", "-m", "Test inference on a real GPU")
        _git(world, checkout, "push", "-q", "--force", "origin", branch)
        return _git(world, checkout, "rev-parse", "HEAD").strip()


def _git(world: World, folder: Path, *arguments: str) -> str:
    identity = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", "Quickstart"), ("EMAIL", "quickstart@localhost"))
    }
    environment = {**os.environ, **identity, "GITLAB_TOKEN": world.gitlab_token, "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(
        ["git", "-c", f"credential.helper={_CREDENTIALS}", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"git {arguments[0]} failed in {folder}:\n{done.stderr.strip()}")
    return done.stdout
