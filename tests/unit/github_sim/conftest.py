"""A simulator in memory of the test, without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.github import seeds
from localcloud.github.simulator import Simulator


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Simulator]:
    """A new GitHub with its seeds."""
    made = Simulator.open(tmp_path, "http://127.0.0.1:1", "sim-token", "ghp_user")
    seeds.plant(made)
    yield made
    made.store.close()
