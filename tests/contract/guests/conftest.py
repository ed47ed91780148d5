"""Guests in a temporary folder; they need root and bubblewrap, as the agent itself does."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import Lab, sh

from localcloud.guests.guest import Guest

_PREPARE = (
    "apt-get -q update && printf 'URIs: https://nvidia.github.io/libnvidia-container/stable/deb\\n' "
    "> /etc/apt/sources.list.d/nvidia.sources && apt-get -q update && "
    "apt-get -q -y install docker.io nvidia-container-toolkit && "
    "nvidia-ctk runtime configure --runtime=docker && systemctl restart docker && docker pull -q ubuntu:22.04"
)


@pytest.fixture(scope="session", autouse=True)
def can_sandbox() -> None:
    if os.geteuid() != 0 or shutil.which("bwrap") is None:
        pytest.skip("guests need root and bubblewrap (apt-get install bubblewrap)")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """An agent of this test's own."""
    made = Lab(tmp_path / "guests")
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """An agent that a module's tests share."""
    made = Lab(tmp_path_factory.mktemp("lab") / "guests")
    yield made
    made.close()


@pytest.fixture(scope="module")
def docker_guest(shared_lab: Lab) -> Guest:
    """A booted guest with Docker and the NVIDIA toolkit, for tests that leave it as they found it."""
    guest = shared_lab.add("#cloud-config\nruncmd: [[touch, /var/lib/booted]]\n")
    shared_lab.booted(guest)
    prepared = sh(guest, _PREPARE)
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    return guest
