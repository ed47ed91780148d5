"""The base's working tree: the same folder as the candidate's, made ready, and gone afterwards."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from shadow_perfgate.cli.workspace import BaseCheckout
from shadow_perfgate.errors import MeasureError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "models" / "llm").mkdir(parents=True)
    (tmp_path / "models" / "llm" / "perfgate.toml").write_text("")
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def test_a_configuration_in_a_folder_is_measured_in_that_folder_of_base(repository: Path) -> None:
    prepare = ((sys.executable, "-c", "open('ready', 'w')"),)
    with ExitStack() as stack:
        base = BaseCheckout(repository, "HEAD", Path("models/llm"), prepare, stack)
        found = base.path()
        assert found.parts[-2:] == ("models", "llm")
        assert {path.name for path in found.iterdir()} == {"perfgate.toml", "ready"}
        assert base.path() == found
    assert not found.exists()


def test_a_prepare_command_that_fails_is_told_and_leaves_nothing(repository: Path) -> None:
    prepare = ((sys.executable, "-c", "raise SystemExit('no wheel for this driver')"),)
    with ExitStack() as stack, pytest.raises(MeasureError, match="no wheel for this driver"):
        BaseCheckout(repository, "HEAD", Path("models/llm"), prepare, stack).path()
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1


def test_no_workload_is_measured_on_a_base_that_was_not_made_ready(repository: Path) -> None:
    prepare = ((sys.executable, "-c", "raise SystemExit('no wheel for this driver')"),)
    with ExitStack() as stack:
        base = BaseCheckout(repository, "HEAD", Path("models/llm"), prepare, stack)
        for _ in range(2):
            with pytest.raises(MeasureError, match="no wheel for this driver"):
                base.path()
