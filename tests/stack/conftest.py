"""Fixtures of the stack tests: the local cloud as it runs, and a stack of one's own in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.world import NoWorldError, World
from stack.live import LiveStack, github, live_stack


@pytest.fixture(scope="session")
def world() -> World:
    try:
        return World.load()
    except NoWorldError as error:
        pytest.fail(str(error))


@pytest.fixture
def stack(tmp_path: Path, world: World) -> Iterator[LiveStack]:
    with live_stack(tmp_path, world) as made:
        yield made


@pytest.fixture
def forges(stack: LiveStack) -> Iterator[LiveStack]:
    """A stack without instances, with a GitLab group and a GitHub organisation of its own."""
    client = stack.gitlab()
    group = client.groups.create({"name": stack.owner, "path": stack.owner})
    client.projects.create({"name": "inference", "path": "inference", "namespace_id": group.id})
    github(stack.world, "POST", "/_sim/accounts", {"login": stack.owner, "plan": "team"})
    github(stack.world, "POST", f"/api/v3/orgs/{stack.owner}/repos", {"name": "inference"})
    stack.config["pools"][0]["count"] = 0
    stack.config["gitlab"] = {"url": stack.world.gitlab_url, "project": f"{stack.owner}/inference"}
    stack.config["github"] = {
        "owner": stack.owner,
        "baseUrl": stack.world.github_url,
        "repositories": ["inference"],
        "webhook": {"url": "http://127.0.0.1:8940/github", "active": False},
    }
    yield stack
    group.delete()
