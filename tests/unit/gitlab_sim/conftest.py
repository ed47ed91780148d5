"""An instance without HTTP around it: real database, repositories and clock in a folder of the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.gitlab import projects
from localcloud.gitlab.git import Change
from localcloud.gitlab.instance import Instance, open_instance
from localcloud.gitlab.settings import Settings
from localcloud.gitlab.store import Row


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    """An empty instance."""
    made = open_instance(Settings(port=1, state=tmp_path, admin_token="glpat-admin", sim_token="sim"))
    yield made
    made.store.close()


@pytest.fixture
def root(instance: Instance) -> Row:
    """The administrator."""
    return instance.store.get("users", 1)


@pytest.fixture
def project(instance: Instance, root: Row) -> Row:
    """A project with one commit on main."""
    made = projects.add(instance, None, root, "demo")
    files = [Change("README.md", b"demo\n"), Change("src/a.py", b"1\n")]
    instance.repositories.add_commit(made["id"], "main", files, "First", ("Ada", "ada@example.com"), None)
    return made
