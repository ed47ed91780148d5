"""The plugin, and a simulated GitLab on a free port for it to work on."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.gitlab.testing import Server

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "engine"), str(ROOT / "tests" / "unit" / "gitlab_plugin")]

from plugin_client import PluginClient  # noqa: E402 - the path comes first


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("gitlab"))
    running.start()
    yield running
    running.kill()


@pytest.fixture
def plugin(server: Server) -> Iterator[PluginClient]:
    with PluginClient() as client:
        client.configure(baseUrl=f"{server.url}/api/v4/", token=server.admin_token)
        yield client
    server.sim("DELETE", "/faults")
