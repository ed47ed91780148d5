"""A tiny GitLab over HTTP and the plugin as the engine drives it: gRPC to a process of its own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[3] / "engine"), str(Path(__file__).parent)]

from gitlab_double import GitLabDouble  # noqa: E402 - the path comes first
from plugin_client import PluginClient  # noqa: E402 - same


@pytest.fixture(autouse=True)
def _no_gitlab_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITLAB_TOKEN", "GITLAB_BASE_URL", "GITLAB_EARLY_AUTH_CHECK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def gitlab() -> Iterator[GitLabDouble]:
    with GitLabDouble() as double:
        yield double


@pytest.fixture
def plugin(gitlab: GitLabDouble) -> Iterator[PluginClient]:
    with PluginClient() as client:
        client.configure(baseUrl=f"{gitlab.url}/api/v4/", token=gitlab.token, retries="2")
        yield client
