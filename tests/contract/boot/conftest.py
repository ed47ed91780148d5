"""The guests' laboratory, for user-data made by the components."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "guests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "unit/gpu_runners_boot"))

from lab import Lab


@pytest.fixture(scope="session")
def can_sandbox() -> None:
    if os.geteuid() != 0 or shutil.which("bwrap") is None:
        pytest.skip("guests need root and bubblewrap (apt-get install bubblewrap)")


@pytest.fixture(scope="module")
def lab(can_sandbox: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Return an agent that a module's tests share."""
    made = Lab(tmp_path_factory.mktemp("boot") / "guests")
    yield made
    made.close()
