"""Fixtures of the stack tests: the local cloud as it runs, and a stack of one's own in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.world import NoWorldError, World
from stack.live import LiveStack, forge_config, forge_owners, live_stack


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
    with forge_owners(stack):
        stack.config["pools"][0]["count"] = 0
        stack.config |= forge_config(stack)
        yield stack
