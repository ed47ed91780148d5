"""Both simulators as processes of their own, with a fresh organisation or group for each test."""

from collections.abc import Iterator
from contextlib import closing
from typing import TypeVar

import pytest
from contract.autoscaler.forge.labs import FakeLab, GitHubLab, GitLabLab, Lab
from contract.github.harness import Forge as GitHubSimulator

from localcloud.gitlab.testing import Server as GitLabSimulator
from shadow_autoscaler.core.jobs import ForgeKind

_Simulator = TypeVar("_Simulator", GitHubSimulator, GitLabSimulator)


def _up(simulator: _Simulator) -> Iterator[_Simulator]:
    simulator.start()
    yield simulator
    simulator.kill()


@pytest.fixture(scope="session")
def _github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHubSimulator]:
    yield from _up(GitHubSimulator(tmp_path_factory.mktemp("github")))


@pytest.fixture(scope="session")
def _gitlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitLabSimulator]:
    yield from _up(GitLabSimulator(tmp_path_factory.mktemp("gitlab")))


@pytest.fixture
def github(_github: GitHubSimulator) -> Iterator[GitHubLab]:
    """An organisation of its own in a simulator without faults or changed settings."""
    _github.sim("POST", "/reset")
    with closing(GitHubLab(_github)) as lab:
        yield lab


@pytest.fixture
def gitlab(_gitlab: GitLabSimulator) -> Iterator[GitLabLab]:
    """A group and project of its own in a simulator without faults."""
    _gitlab.sim("DELETE", "/faults")
    with closing(GitLabLab(_gitlab)) as lab:
        yield lab


@pytest.fixture(params=["github", "gitlab", "fake-github", "fake-gitlab"])
def lab(request: pytest.FixtureRequest) -> Lab:
    """Every forge there is."""
    if request.param.startswith("fake"):
        return FakeLab(ForgeKind(request.param.removeprefix("fake-")))
    found: Lab = request.getfixturevalue(request.param)
    return found
