"""A simulated GitLab on a free port with a state folder of its own, and the real clients that talk to it."""

from collections.abc import Iterator
from pathlib import Path

import gitlab
import pytest
from gitlab.v4.objects import Project

from localcloud.gitlab.testing import Receiver, Server, receiving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server shared by tests that keep to their own projects."""
    running = Server(tmp_path_factory.mktemp("gitlab"))
    running.start()
    yield running
    running.kill()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server for tests that restart it, or change faults or the clock."""
    running = Server(tmp_path)
    running.start()
    yield running
    running.kill()


@pytest.fixture
def gl(server: Server) -> Iterator[gitlab.Gitlab]:
    """python-gitlab as the administrator."""
    with gitlab.Gitlab(server.url, private_token=server.admin_token, retry_transient_errors=False) as client:
        yield client


@pytest.fixture
def project(server: Server, gl: gitlab.Gitlab) -> Project:
    """A project with one commit and no CI file."""
    return gl.projects.get(server.seed())


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A webhook receiver on a free port."""
    with receiving() as found:
        yield found
