"""Every unit test has a home of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHADOW_LOCALCLOUD_HOME", str(tmp_path))
    return tmp_path
