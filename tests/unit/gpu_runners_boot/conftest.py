"""Fixtures of the boot tests."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from machine import Machine  # type: ignore[import-not-found]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a scratch machine with one healthy GPU."""
    return Machine(tmp_path)


@pytest.fixture
def swallowed_failures() -> Iterator[None]:
    """Collect failed outputs inside the test: at a later time asyncio would log them into other tests."""
    yield
    gc.collect()
